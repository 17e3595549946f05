! SPDX-License-Identifier: Apache-2.0
! `use mpi`: choice buffers of each rank and type, handles, logical arrays, strings, positions that start at 1.
program main
  use mpi
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  implicit none
  integer :: rank, ranks, ierr, comm, group, info, i, n, position, dims(2), coords(2), requests(3), indices(3), values(3)
  integer :: sizes(2), length, win, newtype
  integer(MPI_ADDRESS_KIND) :: lb, extent, bytes
  logical :: periods(3), flag
  character(len=20) :: value, key
  character(len=MPI_MAX_ERROR_STRING) :: text
  real(8) :: plane(3, 4)
  type(c_ptr) :: memory
  integer, pointer :: shared(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  plane = rank
  call MPI_Bcast(plane, size(plane), MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, ierr)
  call check(all(plane == ranks - 1), 'bcast of a plane')
  call MPI_Bcast(plane(1, 1), 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)

  dims = [ranks, 1]
  periods = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm, ierr)
  call MPI_Cart_get(comm, 3, dims, periods, coords, ierr)
  call check(periods(1) .and. .not. periods(2) .and. periods(3), 'periods')
  call MPI_Cart_sub(comm, [.false., .true.], group, ierr)
  call MPI_Comm_size(group, n, ierr)
  call check(n == 1, 'cart_sub')
  call MPI_Comm_free(group, ierr)
  call MPI_Comm_free(comm, ierr)
  call check(comm == MPI_COMM_NULL, 'comm_free')

  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, '  colour ', ' deep blue  ', ierr)
  n = 20
  call MPI_Info_get_string(info, 'colour', n, value, flag, ierr)
  call check(flag .and. n == 9 .and. value == 'deep blue', 'info_get_string')
  n = 0
  call MPI_Info_get_string(info, 'colour', n, value, flag, ierr)
  call check(flag .and. n == 9, 'length of an info value')
  call MPI_Info_get(info, 'colour', 4, value, flag, ierr)
  call check(flag .and. value == 'deep', 'info_get')
  call MPI_Info_get_nthkey(info, 0, key, ierr)
  call check(key == 'colour', 'info_get_nthkey')
  call MPI_Info_free(info, ierr)

  values = -1
  do i = 1, 3
    call MPI_Irecv(values(i), 1, MPI_INTEGER, MPI_PROC_NULL, i, MPI_COMM_SELF, requests(i), ierr)
  end do
  call MPI_Waitany(3, requests, position, MPI_STATUS_IGNORE, ierr)
  call check(position >= 1 .and. position <= 3, 'waitany')
  call check(requests(position) == MPI_REQUEST_NULL, 'waitany request')
  call MPI_Waitsome(3, requests, n, indices, MPI_STATUSES_IGNORE, ierr)
  call check(n >= 1 .and. all(indices(1:n) >= 1) .and. all(indices(1:n) <= 3), 'waitsome')
  call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
  call MPI_Waitany(3, requests, position, MPI_STATUS_IGNORE, ierr)
  call check(position == MPI_UNDEFINED, 'waitany of nothing')

  call MPI_Error_string(MPI_ERR_RANK, text, length, ierr)
  call check(length > 0 .and. len_trim(text) == length, 'error_string')
  call MPI_Type_vector(2, 1, 3, MPI_INTEGER, newtype, ierr)
  call MPI_Type_get_extent(newtype, lb, extent, ierr)
  call check(lb == 0 .and. extent == 16, 'extent')
  call MPI_Type_free(newtype, ierr)
  call MPI_Sizeof(plane, sizes(1), ierr)
  call MPI_Sizeof(rank, sizes(2), ierr)
  call check(all(sizes == [8, 4]), 'sizeof')

  bytes = 40
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win, ierr)
  call c_f_pointer(memory, shared, [10])
  shared = rank
  call MPI_Win_fence(0, win, ierr)
  bytes = 3
  call MPI_Get(values, 1, MPI_INTEGER, ranks - 1, bytes, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call check(values(1) == ranks - 1, 'get')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag, ierr)
  call check(flag .and. bytes == 40, 'window size')
  call MPI_Win_free(win, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bytes, flag, ierr)
  call check(flag .and. bytes >= 32767, 'tag bound')

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierr)
  call check(ierr /= MPI_SUCCESS, 'a wrong rank')
  call MPI_Error_class(ierr, n, ierr)
  call check(n == MPI_ERR_RANK, 'its class')
  call MPI_Finalize(ierr)
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
