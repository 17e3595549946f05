! SPDX-License-Identifier: Apache-2.0
! `use mpi_f08`: handle types, absent ierror, sections of arrays, large counts, callbacks.
module called
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  implicit none
  integer :: copies = 0, removals = 0, last_code = -1
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 3)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
  end subroutine
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine remove(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    removals = removals + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    last_code = error_code
  end subroutine
end module

program main
  use called
  implicit none
  integer :: rank, ranks, n, keyval, next, before
  integer :: line(12), plane(4, 6), got(4, 6)
  integer(MPI_ADDRESS_KIND) :: value
  integer(MPI_COUNT_KIND) :: many
  type(MPI_Comm) :: comm
  type(MPI_Op) :: op
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Errhandler) :: errhandler
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)

  line = [(n, n = 1, 12)] + 100 * rank
  plane = 0
  call MPI_Sendrecv(line(1:12:2), 6, MPI_INTEGER, next, 1, plane(2, :), 6, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status)
  call check(all(plane(2, :) == [1, 3, 5, 7, 9, 11] + 100 * before), 'a row of a plane')
  call check(all(plane([1, 3, 4], :) == 0), 'the other rows')
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check(n == 6 .and. status%MPI_SOURCE == before, 'status')

  got = -1
  plane = reshape([(n, n = 1, 24)], [4, 6]) + 100 * rank
  call MPI_Irecv(got(4:1:-2, 2:6:2), 6, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1))
  many = 6
  call MPI_Isend(plane(1:4:3, 1:3), many, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call check(all(got(4:1:-2, 2:6:2) == reshape([1, 4, 5, 8, 9, 12], [2, 3]) + 100 * before), 'a section backwards')
  call check(count(got /= -1) == 6, 'bytes outside of it')

  line = rank
  call MPI_Allreduce(MPI_IN_PLACE, line(2:12:5), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(line(2:12:5) == ranks * (ranks - 1) / 2) .and. line(1) == rank, 'allreduce of a section in place')

  call MPI_Op_create(add, .true., op)
  call MPI_Allreduce(rank, n, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check(n == ranks * (ranks - 1) / 2, 'an operation')
  call MPI_Op_free(op)
  call check(op == MPI_OP_NULL, 'op_free')

  value = 5
  call MPI_Comm_create_keyval(copy, remove, keyval, value)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -7_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check(flag .and. value == -2 .and. copies == 1, 'a copied attribute')
  call MPI_Comm_free(comm)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
  call check(removals == 2, 'removed attributes')
  call MPI_Comm_free_keyval(keyval)

  call MPI_Comm_create_errhandler(handle, errhandler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)
  call MPI_Send(rank, 1, MPI_INTEGER, -55, 0, MPI_COMM_WORLD, n)
  call check(n == last_code .and. n /= MPI_SUCCESS, 'an error handler')
  call MPI_Errhandler_free(errhandler)
  call MPI_Finalize()
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
