! SPDX-License-Identifier: Apache-2.0
! Random sections with gaps in the choice buffers of mpi_f08, against the same calls with packed copies: every element inside and
! outside of the sections. Extents, steps (also negative) and starts are random; all ranks draw the same extents.
! ranks: 1 2 3
! timeout: 120
! args: 200
! variant: long
!   args: 1000
!   full: yes
!   timeout: 600
module exercises
  use mpi_f08
  implicit none
  integer, parameter :: kinds = 37
  integer :: rank, ranks, next, before
  integer(8) :: seed
  type(MPI_Comm) :: ring
  type(MPI_Win) :: win
  integer, allocatable, asynchronous :: exposed(:)
contains
  ! One call, or one group of calls. s: sent; d: received; b: a block for each rank; g: sent to each rank.
  subroutine exercise(kind, s, d, b, g)
    integer, intent(in) :: kind
    integer, intent(inout), asynchronous :: s(:, :, :), d(:, :, :), b(:, :, :, :), g(:, :, :, :)
    type(MPI_Request) :: requests(2)
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    type(MPI_Datatype) :: pair
    integer :: n, i, position, counts(ranks), places(ranks)
    integer(MPI_COUNT_KIND) :: large
    integer(MPI_ADDRESS_KIND) :: zero
    type(MPI_Datatype) :: types(ranks)
    integer, asynchronous :: packed(size(s) + 1)
    logical :: flag
    n = size(s)
    large = n
    zero = 0
    counts = n
    places = [(i * n, i = 0, ranks - 1)]
    types = MPI_INTEGER
    select case (kind)
    case (1)
      call MPI_Sendrecv(s, n, MPI_INTEGER, next, 1, d, n, MPI_INTEGER, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (2)
      call MPI_Irecv(d, n, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(s, n, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (3)
      call MPI_Bcast(d, n, MPI_INTEGER, 0, MPI_COMM_WORLD)
    case (4)
      call MPI_Allreduce(s, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    case (5)
      call MPI_Iallreduce(s, d, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (6)
      call MPI_Gather(s, n, MPI_INTEGER, b, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    case (7)
      call MPI_Iallgather(s, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(1), flag, status)
      end do
    case (8)
      call MPI_Scatter(g, n, MPI_INTEGER, d, n, MPI_INTEGER, 0, MPI_COMM_WORLD)
    case (9)
      call MPI_Alltoall(g, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD)
    case (10)
      call MPI_Alltoallv(g, counts, places, MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    case (11)
      call MPI_Ialltoallw(g, counts, 4 * places, types, b, counts, 4 * places, types, MPI_COMM_WORLD, requests(1))
      call MPI_Waitany(1, requests, i, status)
      if (i /= 1) call MPI_Abort(MPI_COMM_WORLD, 4)
    case (12)
      call MPI_Reduce(s, d, n, MPI_INTEGER, MPI_MIN, 0, MPI_COMM_WORLD)
    case (13)
      call MPI_Scan(s, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    case (14)
      call MPI_Iexscan(s, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
      call MPI_Waitsome(1, requests, i, counts, MPI_STATUSES_IGNORE)
    case (15)
      call MPI_Reduce_scatter_block(g, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    case (16)
      call MPI_Ireduce_scatter(g, d, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (17)
      call MPI_Sendrecv_replace(d, n, MPI_INTEGER, next, 3, before, 3, MPI_COMM_WORLD, status)
    case (18)
      call MPI_Isendrecv(s, n, MPI_INTEGER, next, 4, d, n, MPI_INTEGER, before, 4, MPI_COMM_WORLD, requests(1))
      call MPI_Wait(requests(1), status)
    case (19)
      call MPI_Recv_init(d, n, MPI_INTEGER, before, 5, MPI_COMM_WORLD, requests(1))
      call MPI_Send_init(s, n, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2))
      do i = 1, 2
        s(1, 1, 1) = s(1, 1, 1) + 1
        call MPI_Startall(2, requests)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end do
      call MPI_Request_free(requests(1))
      call MPI_Request_free(requests(2))
    case (20)
      call MPI_Allreduce_init(s, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
      do i = 1, 2
        s(1, 1, 1) = s(1, 1, 1) + 1
        call MPI_Start(requests(1))
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      end do
      call MPI_Request_free(requests(1))
    case (21)
      call MPI_Isend(s, large, MPI_INTEGER, next, 6, MPI_COMM_WORLD, requests(1))
      call MPI_Mprobe(before, 6, MPI_COMM_WORLD, message, status)
      call MPI_Imrecv(d, n, MPI_INTEGER, message, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (22)
      call MPI_Issend(s, n, MPI_INTEGER, next, 7, MPI_COMM_WORLD, requests(1))
      call MPI_Recv(d, n, MPI_INTEGER, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (23)
      position = 0
      call MPI_Pack(s, n, MPI_INTEGER, packed, 4 * n, position, MPI_COMM_SELF)
      position = 0
      call MPI_Unpack(packed, 4 * n, position, d, n, MPI_INTEGER, MPI_COMM_SELF)
    case (24)
      position = 0
      call MPI_Pack(packed(1:n), n, MPI_INTEGER, d, 4 * n, position, MPI_COMM_SELF)
      d = s
    case (25)
      call MPI_Reduce_local(s, d, n, MPI_INTEGER, MPI_SUM)
    case (26)
      call MPI_Win_fence(0, win)
      call MPI_Put(s, n, MPI_INTEGER, next, zero, n, MPI_INTEGER, win)
      call MPI_Win_fence(0, win)
      call MPI_Get(d, n, MPI_INTEGER, before, zero, n, MPI_INTEGER, win)
      call MPI_Win_fence(0, win)
    case (27)
      exposed = 1
      call MPI_Win_fence(0, win)
      call MPI_Accumulate(s, n, MPI_INTEGER, next, zero, n, MPI_INTEGER, MPI_SUM, win)
      call MPI_Win_fence(0, win)
      d = reshape(exposed(1:n), shape(d))
    case (28)
      call MPI_Win_fence(0, win)
      call MPI_Win_lock_all(0, win)
      call MPI_Rput(s, n, MPI_INTEGER, rank, zero, n, MPI_INTEGER, win, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      call MPI_Win_flush(rank, win)
      call MPI_Rget(d, n, MPI_INTEGER, rank, zero, n, MPI_INTEGER, win, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      call MPI_Win_unlock_all(win)
      call MPI_Win_fence(0, win)
    case (29)
      exposed = rank
      call MPI_Win_fence(0, win)
      call MPI_Get_accumulate(s, n, MPI_INTEGER, d, n, MPI_INTEGER, next, zero, n, MPI_INTEGER, MPI_REPLACE, win)
      call MPI_Win_fence(0, win)
    case (30)
      call MPI_Neighbor_allgather(s, n, MPI_INTEGER, b(:, :, :, 1:2), n, MPI_INTEGER, ring)
    case (31)
      call MPI_Ineighbor_alltoall(g(:, :, :, 1:2), n, MPI_INTEGER, b(:, :, :, 1:2), n, MPI_INTEGER, ring, requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (32)  ! part of a section, by a derived datatype that is not dense
      if (n < 4) return
      call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
      call MPI_Type_commit(pair)
      call MPI_Sendrecv(s, 1, pair, next, 8, d, 1, pair, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Type_free(pair)
    case (33)
      if (n < 4) return
      call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
      call MPI_Type_commit(pair)
      call MPI_Irecv(d, 1, pair, before, 9, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(s, 1, pair, next, 9, MPI_COMM_WORLD, requests(2))
      call MPI_Type_free(pair)
      flag = .false.
      do while (.not. flag)
        call MPI_Request_get_status(requests(1), flag, status)
      end do
      d(1, 1, 1) = d(1, 1, 1) + 5  ! the data are here, and the later call must not bring them again
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (34)  ! the begin of a section, also within a dimension
      i = max(1, n - 1)
      call MPI_Sendrecv(s, i, MPI_INTEGER, next, 10, d, i, MPI_INTEGER, before, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (35)
      call MPI_Sendrecv(s, 4 * n, MPI_BYTE, next, 11, d, 2 * n, MPI_INTEGER2, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (36)
      call MPI_Allreduce(MPI_IN_PLACE, d, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    case (37)  ! an active request is freed
      if (n < 4) return
      call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
      call MPI_Type_commit(pair)
      call MPI_Isend(s, 1, pair, next, 12, MPI_COMM_WORLD, requests(1))
      call MPI_Request_free(requests(1))
      call MPI_Recv(d, 1, pair, before, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Type_free(pair)
    end select
  end subroutine
end module

program main
  use exercises
  implicit none
  integer, parameter :: most = 3
  integer :: field(most * 12), rounds, round, kind, e(3), i, wrong, calls
  integer, dimension(7, 6, 5), target :: a, c, a_was, c_was
  integer, allocatable, target :: b(:, :, :, :), g(:, :, :, :), b_was(:, :, :, :), g_was(:, :, :, :)
  logical :: outside_a(7, 6, 5), outside_c(7, 6, 5)
  logical, allocatable :: outside_b(:, :, :, :), outside_g(:, :, :, :)
  integer, allocatable :: s(:, :, :), d(:, :, :), pb(:, :, :, :), pg(:, :, :, :)
  integer, pointer, asynchronous :: sp(:, :, :), dp(:, :, :), bp(:, :, :, :), gp(:, :, :, :)
  integer(MPI_ADDRESS_KIND) :: bytes
  character(len=8) :: word
  call get_command_argument(1, word)
  read (word, *) rounds
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
  allocate(exposed(size(field)), b(7, 6, 5, 2 * max(ranks, 2)), g(7, 6, 5, 2 * max(ranks, 2)))
  exposed = 0
  bytes = 4 * size(exposed)
  call MPI_Win_create(exposed, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  wrong = 0
  calls = 0
  seed = 1
  do round = 1, rounds
    do kind = 1, kinds
      e = [draw(most), draw(2), draw(2)]  ! the same on all ranks
      call fill(a, 1)
      call fill(c, 2)
      b = 3 + rank
      g = reshape([(i * 7 + rank, i = 1, size(g))], shape(g))
      call section(a, e, sp)
      call section(c, e, dp)
      call blocks(b, e, bp)
      call blocks(g, e, gp)
      a_was = a
      c_was = c
      b_was = b
      g_was = g
      s = sp
      d = dp
      pb = bp
      pg = gp
      sp = 0  ! marks the section: no other element is 0
      dp = 0
      bp = 0
      gp = 0
      outside_a = a /= 0
      outside_c = c /= 0
      outside_b = b /= 0
      outside_g = g /= 0
      a = a_was
      c = c_was
      b = b_was
      g = g_was
      call exercise(kind, s, d, pb, pg)
      exposed = 0
      call exercise(kind, sp, dp, bp, gp)
      exposed = 0
      calls = calls + 1
      if (kind == 24) d = s
      if (any(sp /= s) .or. any(dp /= d) .or. any(bp /= pb) .or. any(gp /= pg)) call report('inside of')
      if (any(outside_a .and. a /= a_was) .or. any(outside_c .and. c /= c_was)) call report('outside of')
      if (any(outside_b .and. b /= b_was) .or. any(outside_g .and. g /= g_was)) call report('outside of a block of')
    end do
  end do
  call MPI_Win_free(win)
  if (rank == 0) print '(i0, a)', calls, ' calls with sections'
  if (wrong > 0) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
contains
  integer function draw(limit)
    integer, intent(in) :: limit
    seed = mod(seed * 48271_8, 2147483647_8)
    draw = 1 + int(mod(seed / 64, int(limit, 8)))
  end function
  subroutine fill(array, salt)
    integer, intent(out) :: array(:, :, :)
    integer, intent(in) :: salt
    integer :: i
    array = reshape([(1000 * rank + 10000 * salt + i, i = 1, size(array))], shape(array))
  end subroutine
  subroutine triplet(extent, length, first, last, step)
    integer, intent(in) :: extent, length
    integer, intent(out) :: first, last, step
    step = merge(1, draw(2), length == 1)
    if ((length - 1) * step + 1 > extent) step = 1
    first = draw(extent - (length - 1) * step)
    last = first + (length - 1) * step
    if (draw(3) == 1) then
      i = first
      first = last
      last = i
      step = -step
    end if
  end subroutine
  subroutine section(array, lengths, made)
    integer, target, intent(in) :: array(:, :, :)
    integer, intent(in) :: lengths(3)
    integer, pointer, asynchronous, intent(out) :: made(:, :, :)
    integer :: f(3), l(3), t(3), k
    do k = 1, 3
      call triplet(size(array, k), lengths(k), f(k), l(k), t(k))
    end do
    made => array(f(1):l(1):t(1), f(2):l(2):t(2), f(3):l(3):t(3))
  end subroutine
  subroutine blocks(array, lengths, made)
    integer, target, intent(in) :: array(:, :, :, :)
    integer, intent(in) :: lengths(3)
    integer, pointer, asynchronous, intent(out) :: made(:, :, :, :)
    integer :: f(3), l(3), t(3), k
    do k = 1, 3
      call triplet(size(array, k), lengths(k), f(k), l(k), t(k))
    end do
    made => array(f(1):l(1):t(1), f(2):l(2):t(2), f(3):l(3):t(3), 1::2)
  end subroutine
  subroutine report(where)
    character(len=*), intent(in) :: where
    wrong = wrong + 1
    if (wrong < 10) print '(a, i0, 3a, 3i3)', 'call of kind ', kind, ': wrong values ', where, ' a section with extents', e
  end subroutine
end program
