! SPDX-License-Identifier: Apache-2.0
! Calls that fail: no writes to arrays of results, and the error handler is called.
! ranks: 1
! args: completion
! variant: callbacks
!   args: callbacks
module handlers
  use mpi_f08
  implicit none
  integer :: called = 0
contains
  subroutine count_errors(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    called = called + merge(1, 0, comm == MPI_COMM_SELF .and. error_code /= MPI_SUCCESS)
  end subroutine
end module

program main
  use handlers
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Errhandler) :: handler
  character(len=20) :: part
  call get_command_argument(1, part)
  call MPI_Init()
  call MPI_Comm_create_errhandler(count_errors, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
  if (part == 'completion') call completion()
  if (part == 'callbacks') call callbacks()
  call MPI_Finalize()
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print '(2a)', 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine completion()
    type(MPI_Request) :: r(1)
    integer, volatile :: n  ! keeps its value at calls with intent(out)
    integer :: places(8), code, call
    logical :: flag
    do call = 1, 3
      r(1)%MPI_VAL = 77777777
      n = 8
      places = 5
      if (call == 1) call MPI_Testsome(1, r, n, places, MPI_STATUSES_IGNORE, code)
      if (call == 2) call MPI_Waitsome(1, r, n, places, MPI_STATUSES_IGNORE, code)
      if (call == 3) call MPI_Request_get_status_some(1, r, n, places, MPI_STATUSES_IGNORE, code)
      call expect(code /= MPI_SUCCESS .and. all(places == 5), 'an array of indices')
    end do
    n = 8
    call MPI_Testany(1, r, n, flag, MPI_STATUS_IGNORE, code)
    call expect(code /= MPI_SUCCESS .and. .not. flag, 'an index')
  end subroutine

  subroutine callbacks()
    procedure(MPI_User_function), pointer :: never
    type(MPI_Op) :: op
    integer :: i, refused, code
    refused = 0
    do i = 1, 70
      call c_f_procpointer(transfer(int(4096 + i, c_intptr_t), c_null_funptr), never)
      call MPI_Op_create(never, .true., op, code)
      if (code == MPI_SUCCESS) call MPI_Op_free(op)
      if (code /= MPI_SUCCESS) refused = refused + 1
    end do
    call expect(refused > 0 .and. called == refused, 'errors of MPI_Op_create')
  end subroutine
end program
