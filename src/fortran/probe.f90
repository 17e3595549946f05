! SPDX-License-Identifier: Apache-2.0
! A program for configure: probe.c checks the descriptors of these arrays.
program probe
  implicit none
  interface
    subroutine tern_probe(buffer, element, rank, stride, extent, bad)
      type(*), dimension(..) :: buffer
      integer :: element, rank, stride, extent, bad
    end subroutine
  end interface
  integer :: bad = 0
  integer(4) :: scalar, line(10), plane(6, 5)
  real(8) :: wide(8, 3)
  character(len=7) :: words(4)
  call tern_probe(scalar, 4, 0, 0, 0, bad)
  call tern_probe(line, 4, 1, 1, 10, bad)
  call tern_probe(line(1:10:3), 4, 1, 3, 4, bad)
  call tern_probe(line(10:1:-2), 4, 1, -2, 5, bad)
  call tern_probe(plane(2, :), 4, 1, 6, 5, bad)
  call tern_probe(plane(1:5:2, 2:4), 4, 2, 6, 3, bad)
  call tern_probe(wide, 8, 2, 8, 3, bad)
  call tern_probe(words, 7, 1, 1, 4, bad)
  call passed(line)
  if (bad /= 0) stop 1
contains
  subroutine passed(unknown)
    integer :: unknown(*)
    call tern_probe(unknown, 4, 1, 1, -1, bad)
  end subroutine
end program
