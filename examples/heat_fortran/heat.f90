! SPDX-License-Identifier: Apache-2.0
! The heat equation on a plate in Fortran: each rank has a rectangle; neighbours exchange borders as array sections.
! Why: `mpi_f08` takes plate(1, :) as it is, without a copy and without a datatype.
! ranks: 1 2 4
! args: 60 40 200
! expect-stdout: 60 x 40 cells, 200 steps, \d ranks: mean 0.3152531
program heat
  use mpi_f08
  implicit none
  integer, parameter :: real8 = selected_real_kind(15)
  real(real8), parameter :: share = 0.2_real8  ! of the difference to each neighbour, a step; stable below 0.25
  integer :: rank, ranks, cells(2), steps, step, grid(2), place(2), first(2), last(2), north, south, west, east
  real(real8), allocatable, asynchronous :: plate(:, :)
  real(real8), allocatable :: next(:, :)
  real(real8) :: total
  type(MPI_Comm) :: comm
  type(MPI_Request) :: requests(8)

  call MPI_Init()
  call read_arguments(cells, steps)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  grid = 0
  call MPI_Dims_create(ranks, 2, grid)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, grid, [.false., .false.], .true., comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Cart_coords(comm, rank, 2, place)
  call MPI_Cart_shift(comm, 0, 1, west, east)
  call MPI_Cart_shift(comm, 1, 1, north, south)
  first = cells * place / grid + 1
  last = cells * (place + 1) / grid
  allocate(plate(first(1) - 1:last(1) + 1, first(2) - 1:last(2) + 1), next(first(1):last(1), first(2):last(2)))
  plate = 0
  call warm()

  do step = 1, steps
    associate (m => last(1), n => last(2), a => first(1), b => first(2))
      call MPI_Irecv(plate(a - 1, b:n), n - b + 1, MPI_DOUBLE_PRECISION, west, 1, comm, requests(1))
      call MPI_Irecv(plate(m + 1, b:n), n - b + 1, MPI_DOUBLE_PRECISION, east, 2, comm, requests(2))
      call MPI_Irecv(plate(a:m, b - 1), m - a + 1, MPI_DOUBLE_PRECISION, north, 3, comm, requests(3))
      call MPI_Irecv(plate(a:m, n + 1), m - a + 1, MPI_DOUBLE_PRECISION, south, 4, comm, requests(4))
      call MPI_Isend(plate(m, b:n), n - b + 1, MPI_DOUBLE_PRECISION, east, 1, comm, requests(5))
      call MPI_Isend(plate(a, b:n), n - b + 1, MPI_DOUBLE_PRECISION, west, 2, comm, requests(6))
      call MPI_Isend(plate(a:m, n), m - a + 1, MPI_DOUBLE_PRECISION, south, 3, comm, requests(7))
      call MPI_Isend(plate(a:m, b), m - a + 1, MPI_DOUBLE_PRECISION, north, 4, comm, requests(8))
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
      if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(plate)
      next = plate(a:m, b:n) + share * (plate(a - 1:m - 1, b:n) + plate(a + 1:m + 1, b:n) + &
             plate(a:m, b - 1:n - 1) + plate(a:m, b + 1:n + 1) - 4 * plate(a:m, b:n))
      plate(a:m, b:n) = next
    end associate
    call warm()
  end do

  total = sum(plate(first(1):last(1), first(2):last(2)))
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
  if (rank == 0) print '(4(i0, a), f9.7)', cells(1), ' x ', cells(2), ' cells, ', steps, ' steps, ', ranks, &
    ' ranks: mean ', total / product(cells)
  call MPI_Finalize()
contains
  ! A wire in the middle of the plate stays hot; the edges stay cold.
  subroutine warm()
    integer :: column
    column = (cells(2) + 1) / 2
    if (column >= first(2) .and. column <= last(2)) plate(first(1):last(1), column) = 1
  end subroutine
  subroutine read_arguments(cells, steps)
    integer, intent(out) :: cells(2), steps
    character(len=16) :: words(3)
    integer :: i, status
    words = ['400 ', '300 ', '2000']
    do i = 1, min(3, command_argument_count())
      call get_command_argument(i, words(i))
    end do
    read (words, *, iostat=status) cells, steps
    if (status == 0 .and. all(cells > 0) .and. steps >= 0) return
    print '(a)', 'usage: heat [width height steps], positive numbers'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine
end program
