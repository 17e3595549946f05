! SPDX-License-Identifier: Apache-2.0
! Sections with gaps in calls at the same time, in refused calls, in files; arrays of class(*). An argument selects one case.
! ranks: 2
! timeout: 60
module cases
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_intptr_t, c_null_ptr, c_f_pointer
  implicit none
  type :: base
    integer :: x
  end type
  type, extends(base) :: longer
    integer :: y, z
  end type
  integer :: rank, called = 0, last_code = MPI_SUCCESS
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine empty_strings()
    character(len=0) :: none(10), got(10)
    character(len=called) :: unknown(10)  ! 0
    call MPI_Sendrecv(unknown(1:10:2), 0, MPI_CHARACTER, 0, 0, got(10:1:-3), 0, MPI_CHARACTER, 0, 0, MPI_COMM_SELF, &
      MPI_STATUS_IGNORE)
    call MPI_Sendrecv(none(1:10:2), 0, MPI_CHARACTER, 0, 0, got, 0, MPI_CHARACTER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  end subroutine

  ! In place, the types of the send side are not significant.
  subroutine in_place_types()
    integer :: d(8), none(2), counts(2), places(2), i
    type(MPI_Datatype) :: types(2)
    type(MPI_Datatype), pointer :: never(:)
    call c_f_pointer(transfer(8_c_intptr_t, c_null_ptr), never, [2])  ! no memory
    none = 0
    counts = 1
    places = [0, 4]
    types = MPI_INTEGER
    d = rank * 100 + [(i, i = 1, 8)]
    call MPI_Alltoallw(MPI_IN_PLACE, none, none, never, d(1:3:2), counts, places, types, MPI_COMM_WORLD)
    call expect(d(1) == merge(1, 3, rank == 0) .and. d(3) == merge(101, 103, rank == 0), 'Alltoallw in place')
  end subroutine

  subroutine two_at_once()
    integer, asynchronous :: d(8), e(8)
    type(MPI_Datatype) :: odd, even
    type(MPI_Request) :: r(2)
    call MPI_Type_indexed(2, [1, 1], [0, 2], MPI_INTEGER, odd)
    call MPI_Type_indexed(2, [1, 1], [1, 3], MPI_INTEGER, even)
    call MPI_Type_commit(odd)
    call MPI_Type_commit(even)
    d = 0
    call MPI_Irecv(d(1:8:2), 1, odd, 0, 1, MPI_COMM_SELF, r(1))
    call MPI_Irecv(d(1:8:2), 1, even, 0, 2, MPI_COMM_SELF, r(2))
    call MPI_Send([11, 13], 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
    call MPI_Send([12, 14], 2, MPI_INTEGER, 0, 2, MPI_COMM_SELF)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    call expect(all(d == [11, 0, 12, 0, 13, 0, 14, 0]), 'two receives into one section')
    call MPI_Recv_init(d(1:8:2), 1, odd, 0, 1, MPI_COMM_SELF, r(1))
    call MPI_Recv_init(d(1:8:2), 1, even, 0, 2, MPI_COMM_SELF, r(2))
    d = 5
    call MPI_Startall(2, r)
    call MPI_Send([21, 23], 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
    call MPI_Send([22, 24], 2, MPI_INTEGER, 0, 2, MPI_COMM_SELF)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    call expect(all(d == [21, 5, 22, 5, 23, 5, 24, 5]), 'two persistent receives into one section')
    call MPI_Request_free(r(1))
    call MPI_Request_free(r(2))
    call MPI_Type_free(odd)
    call MPI_Type_free(even)
    d = 0
    call MPI_Iallgatherv([1], 1, MPI_INTEGER, d(1:8:2), [1], [0], MPI_INTEGER, MPI_COMM_SELF, r(1))
    call MPI_Iallgatherv([2], 1, MPI_INTEGER, d(1:8:2), [1], [3], MPI_INTEGER, MPI_COMM_SELF, r(2))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    call expect(all(d == [1, 0, 0, 0, 0, 0, 2, 0]), 'two collective calls into one section')
    e = -1
    d = 1
    call MPI_Ireduce(d(1:4), e(1:8:2), 4, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, r(1))
    if (rank == 1) e = 7  ! not significant here
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    call expect(all(e == merge([2, -1, 2, -1, 2, -1, 2, -1], 7, rank == 0)), 'a reduction')
  end subroutine

  subroutine partitioned()
    integer, asynchronous :: a(20), b(10)
    type(MPI_Request) :: r(2)
    integer(MPI_COUNT_KIND), parameter :: five = 5, ten = 10
    integer :: i, code
    a = [(i, i = 1, 20)]
    b = -1
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Psend_init(a(1:20:2), 2, five, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, r(1), code)
    call expect(code /= MPI_SUCCESS, 'two partitions of a section')
    call MPI_Precv_init(a(1:20:2), 2, five, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, r(1), code)
    call expect(code /= MPI_SUCCESS, 'two received partitions of a section')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Psend_init(a(1:20:2), 1, ten, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, r(1))
    call MPI_Precv_init(b, 2, five, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, r(2))
    call MPI_Startall(2, r)
    call MPI_Pready(0, r(1))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    call expect(all(b == a(1:20:2)), 'one partition of a section')
    call MPI_Request_free(r(1))
    call MPI_Request_free(r(2))
  end subroutine

  ! Messages beyond the section would write behind the copy.
  subroutine too_large()
    integer, asynchronous :: a(8)
    integer :: code
    integer(MPI_COUNT_KIND), parameter :: half = 2_MPI_COUNT_KIND ** 61
    integer(MPI_ADDRESS_KIND), parameter :: places(2) = [-4_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND]
    type(MPI_Request) :: r
    type(MPI_Datatype) :: pair, low
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Type_create_hindexed(2, [1, 1], places, MPI_INTEGER, low)
    call MPI_Type_commit(low)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Irecv(a(1:8:2), 5, MPI_INTEGER, 0, 0, MPI_COMM_SELF, r, code)
    call expect(code == MPI_ERR_BUFFER, 'one element more than the section')
    call MPI_Irecv(a(1:8:2), 2, pair, 0, 0, MPI_COMM_SELF, r, code)
    call expect(code == MPI_ERR_BUFFER, 'two vectors')
    call MPI_Irecv(a(1:8:2), half, pair, 0, 0, MPI_COMM_SELF, r, code)
    call expect(code == MPI_ERR_BUFFER, 'more bytes than a count holds')
    call MPI_Irecv(a(1:8:2), 1, low, 0, 0, MPI_COMM_SELF, r, code)
    call expect(code == MPI_ERR_BUFFER, 'a datatype that begins before the section')
    call MPI_Irecv(a(1:8:2), 0, low, MPI_PROC_NULL, 0, MPI_COMM_SELF, r, code)
    call expect(code == MPI_SUCCESS, 'no element')
    call MPI_Wait(r, MPI_STATUS_IGNORE)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Type_free(pair)
    call MPI_Type_free(low)
  end subroutine

  subroutine take(x, n, type, code)
    class(*), intent(inout), asynchronous :: x(:)
    integer, intent(in) :: n
    type(MPI_Datatype), intent(in) :: type
    integer, intent(out) :: code
    integer(1), asynchronous :: s(4 * n)
    integer :: i, bytes
    type(MPI_Request) :: r
    s = [(int(mod(i, 100), 1), i = 1, 4 * n)]
    call MPI_Type_size(type, bytes)
    call MPI_Isend(s, n * bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, r)
    call MPI_Recv(x, n, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE, code)
    call MPI_Wait(r, MPI_STATUS_IGNORE)
  end subroutine

  subroutine give(x, n, got, code)
    class(base), intent(in) :: x(:)
    integer, intent(in) :: n
    integer, intent(out) :: got(n), code
    type(MPI_Request) :: r
    got = 0
    call MPI_Irecv(got, n, MPI_INTEGER, 0, 0, MPI_COMM_SELF, r)
    call MPI_Send(x, n, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
    if (code /= MPI_SUCCESS) call MPI_Send(got, 0, MPI_INTEGER, 0, 0, MPI_COMM_SELF)
    call MPI_Wait(r, MPI_STATUS_IGNORE)
  end subroutine

  subroutine give_all(x, code)
    class(base), intent(in) :: x(:)
    integer, intent(out) :: code
    integer :: got(3 * size(x))
    call MPI_Allreduce(x, got, 3 * size(x), MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, code)
  end subroutine

  subroutine polymorphic()
    integer, asynchronous :: a(12)
    integer(1), asynchronous :: b(16)
    type(longer), target :: c(4)
    type(base), pointer :: parts(:)
    integer :: code, got(12), i
    integer, parameter :: word = 67305985  ! bytes 1, 2, 3, 4
    a = -1
    call take(a(1:6), 6, MPI_INTEGER, code)
    call expect(code == MPI_SUCCESS .and. a(1) == word .and. all(a(7:) == -1) .and. a(6) /= -1, 'class(*)')
    a = -1
    call take(a(1:12:2), 6, MPI_INTEGER, code)
    call expect(a(1) == word .and. a(11) /= -1 .and. all(a(2:12:2) == -1), 'class(*) with a step')
    a = -1
    call take(a(1:12:2), 3, MPI_2INTEGER, code)
    call expect(a(1) == word .and. a(11) /= -1 .and. all(a(2:12:2) == -1), 'class(*), copied')
    b = -1
    call take(b(1:6), 6, MPI_INTEGER1, code)
    call expect(all(b == [1_1, 2_1, 3_1, 4_1, 5_1, 6_1, (-1_1, i = 7, 16)]), 'class(*) of bytes')
    b = -1
    call take(b(16:6:-2), 6, MPI_INTEGER1, code)
    call expect(all(b(16:6:-2) == [1_1, 2_1, 3_1, 4_1, 5_1, 6_1]) .and. all(b(5:15:2) == -1), 'class(*) backwards')
    do i = 1, 4
      c(i)%x = i
      c(i)%y = 10 * i
      c(i)%z = 100 * i
    end do
    ! The descriptor of class(base) has the size of base: a larger message gets an error, not the bytes behind a copy.
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call give(c, 12, got, code)
    call expect(code /= MPI_SUCCESS .or. all(got == [(i, 10 * i, 100 * i, i = 1, 4)]), 'class(base)')
    call give(c(1:4:2), 6, got(1:6), code)
    call expect(code /= MPI_SUCCESS .or. all(got(1:6) == [(i, 10 * i, 100 * i, i = 1, 4, 2)]), 'class(base) with a step')
    call give_all(c, code)
    call expect(code /= MPI_SUCCESS, 'class(base) in a reduction')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    parts => c%base
    call MPI_Sendrecv(parts, 4, MPI_INTEGER, 0, 0, got, 4, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call expect(all(got(1:4) == [1, 2, 3, 4]), 'components')
  end subroutine

  subroutine count_errors(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    called = called + merge(1, 0, file /= MPI_FILE_NULL)
    last_code = error_code
  end subroutine

  subroutine count_win_errors(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    called = called + merge(1, 0, win /= MPI_WIN_NULL)
    last_code = error_code
  end subroutine

  ! A refused section is an error of the call's object.
  subroutine files_and_windows()
    integer, asynchronous :: a(10), b(10), w(8)
    type(MPI_File) :: file
    type(MPI_Win) :: win
    type(MPI_Datatype) :: pair
    type(MPI_Errhandler) :: handler
    integer :: i, code, class
    integer(MPI_OFFSET_KIND), parameter :: start = 0
    integer(MPI_ADDRESS_KIND), parameter :: place = 0, bytes = 32
    a = [(i, i = 1, 10)]
    b = 0
    call MPI_File_open(MPI_COMM_SELF, 'section_rules.' // achar(65 + rank), &
      MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write_at_all_begin(file, start, a(1:10:2), 5, MPI_INTEGER)
    call MPI_File_write_at_all_end(file, a(1:10:2), MPI_STATUS_IGNORE, code)
    call expect(code == MPI_SUCCESS, 'the end of a write')
    call MPI_File_read_at_all_begin(file, start, b(10:1:-2), 5, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, b(10:1:-2), MPI_STATUS_IGNORE, code)
    call expect(code == MPI_SUCCESS .and. all(b == [0, 9, 0, 7, 0, 5, 0, 3, 0, 1]), 'the end of a read')
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    called = 0
    call MPI_File_create_errhandler(count_errors, handler)
    call MPI_File_set_errhandler(file, handler)
    call MPI_File_write_all_begin(file, a(1:10:2), 1, pair, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER .and. called == 1 .and. last_code == code, 'a handler of a file')
    call MPI_Errhandler_free(handler)
    call MPI_File_close(file)
    w = 0
    call MPI_Win_create(w, bytes, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Win_create_errhandler(count_win_errors, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:8:2), 2, MPI_2INTEGER, 0, place, 2, MPI_2INTEGER, win, code)
    call expect(code == MPI_ERR_BUFFER .and. called == 2 .and. last_code == code, 'a handler of a window')
    call MPI_Get_accumulate(a(1:8:2), 2, MPI_2INTEGER, b(1:8:2), 2, MPI_2INTEGER, 0, place, 2, MPI_2INTEGER, MPI_REPLACE, &
      win, code)
    call expect(code == MPI_ERR_BUFFER .and. called == 3 .and. last_code == code, 'two refused sections')
    call MPI_Win_fence(0, win)
    call MPI_Errhandler_free(handler)
    call MPI_Win_free(win)
    call MPI_Type_free(pair)
  end subroutine
end module

program main
  use cases
  implicit none
  character(len=20) :: only
  call get_command_argument(1, only)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (chosen('strings')) call empty_strings()
  if (chosen('types')) call in_place_types()
  if (chosen('two')) call two_at_once()
  if (chosen('partitioned')) call partitioned()
  if (chosen('large')) call too_large()
  if (chosen('class')) call polymorphic()
  if (chosen('files')) call files_and_windows()
  call MPI_Finalize()
contains
  logical function chosen(name)
    character(len=*), intent(in) :: name
    chosen = only == '' .or. only == name
  end function
end program
