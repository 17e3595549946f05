! SPDX-License-Identifier: Apache-2.0
! Copied sections in threads: a request freed by one thread is the next request of another.
! ranks: 1
! cflags: -fopenmp
! timeout: 60
program main
  use mpi_f08
  implicit none
  integer :: provided, wrong
  type(MPI_Datatype) :: pair
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  wrong = 0
  !$omp parallel num_threads(8) reduction(+:wrong)
  call exchange(wrong)
  !$omp end parallel
  call MPI_Type_free(pair)
  if (wrong > 0) then
    print '(i0, a)', wrong, ' wrong receives'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end if
  call MPI_Finalize()
contains
  subroutine exchange(wrong)
    use omp_lib, only : omp_get_thread_num
    integer, intent(inout) :: wrong
    integer, asynchronous :: s(8), d(8)
    integer :: k, t
    type(MPI_Request) :: r(2)
    t = omp_get_thread_num()
    do k = 1, 20000
      s = k * 10 + t
      d = -1
      call MPI_Irecv(d(1:8:2), 1, pair, 0, t, MPI_COMM_WORLD, r(1))
      call MPI_Isend(s(1:8:2), 1, pair, 0, t, MPI_COMM_WORLD, r(2))
      call MPI_Wait(r(1), MPI_STATUS_IGNORE)
      call MPI_Wait(r(2), MPI_STATUS_IGNORE)
      if (d(1) /= k * 10 + t .or. d(5) /= k * 10 + t .or. d(3) /= -1) wrong = wrong + 1
    end do
  end subroutine
end program
