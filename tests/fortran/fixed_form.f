! SPDX-License-Identifier: Apache-2.0
! mpif.h in fixed form: a ring, a reduction in place, MPI_BOTTOM, ignored statuses, and C's constants.
      program main
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierr, got, status(MPI_STATUS_SIZE)
      integer next, before, many(3), requests(2), count
      double precision sum, started
      integer(kind=MPI_ADDRESS_KIND) where
      integer type, lengths(1), types(1)
      integer(kind=MPI_ADDRESS_KIND) places(1)
      character*(MPI_MAX_PROCESSOR_NAME) name
      logical flag
      call MPI_INIT(ierr)
      call check(ierr .eq. MPI_SUCCESS, 'init')
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      started = MPI_WTIME()
      next = mod(rank + 1, ranks)
      before = mod(rank + ranks - 1, ranks)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, next, 7, got, 1,
     &     MPI_INTEGER, before, 7, MPI_COMM_WORLD, status, ierr)
      call check(got .eq. before, 'sendrecv')
      call check(status(MPI_SOURCE) .eq. before, 'source')
      call check(status(MPI_TAG) .eq. 7, 'tag')
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
      call check(count .eq. 1, 'count')
      sum = rank + 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION,
     &     MPI_SUM, MPI_COMM_WORLD, ierr)
      call check(sum .eq. ranks * (ranks + 1) / 2, 'in place')
      many(1) = 0
      call MPI_IRECV(many, 3, MPI_INTEGER, before, 8, MPI_COMM_WORLD,
     &     requests(1), ierr)
      call MPI_ISEND((/rank, 2, 3/), 3, MPI_INTEGER, next, 8,
     &     MPI_COMM_WORLD, requests(2), ierr)
      call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
      call check(requests(1) .eq. MPI_REQUEST_NULL, 'waitall')
      call check(many(1) .eq. before .and. many(3) .eq. 3, 'isend')
      call MPI_GET_ADDRESS(got, where, ierr)
      lengths(1) = 1
      places(1) = where
      types(1) = MPI_INTEGER
      call MPI_TYPE_CREATE_STRUCT(1, lengths, places, types, type,
     &     ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      got = -1
      if (rank .eq. 0) got = 42
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
      call MPI_TYPE_FREE(type, ierr)
      call check(type .eq. MPI_DATATYPE_NULL, 'type_free')
      call check(got .eq. 42, 'bottom')
      call MPI_GET_PROCESSOR_NAME(name, count, ierr)
      call check(count .gt. 0 .and. name(count:count) .ne. ' ' .and.
     &     name(count+1:) .eq. ' ', 'processor name')
      call MPI_IPROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag,
     &     MPI_STATUS_IGNORE, ierr)
      call check(.not. flag, 'iprobe')
      call check(MPI_WTIME() .ge. started, 'wtime')
      call check(MPI_AINT_DIFF(MPI_AINT_ADD(where, where), where) .eq.
     &     where, 'aint')
      call MPI_FINALIZE(ierr)
      contains
      subroutine check(good, what)
      logical good
      character*(*) what
      if (good) return
      print *, 'wrong: ', what
      stop 1
      end subroutine
      end
