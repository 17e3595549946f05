! SPDX-License-Identifier: Apache-2.0
! MPI_Comm_spawn without the blanks around the command and the arguments. A child has the argument "child".
! ranks: 1 2
program main
  use mpi_f08
  implicit none
  type(MPI_Comm) :: parent, children
  character(len=1000) :: command
  character(len=10) :: argument, arguments(2) = [character(len=10) :: '  child', '']
  integer :: rank, sum, codes(2)
  call get_command_argument(0, command)
  call get_command_argument(1, argument)
  call MPI_Init()
  call MPI_Comm_get_parent(parent)
  if (parent /= MPI_COMM_NULL) then
    sum = merge(1, 100, command_argument_count() == 1 .and. argument == 'child')
    call MPI_Reduce(sum, rank, 1, MPI_INTEGER, MPI_SUM, 0, parent)
    call MPI_Comm_disconnect(parent)
  else
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    codes = -1
    call MPI_Comm_spawn('  ' // trim(command) // ' ', arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes)
    call MPI_Reduce(codes, sum, 1, MPI_INTEGER, MPI_SUM, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), children)
    if (any(codes /= MPI_SUCCESS) .or. (rank == 0 .and. sum /= 2)) then
      print *, 'wrong children', codes, sum
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    call MPI_Comm_disconnect(children)
  end if
  call MPI_Finalize()
end program
