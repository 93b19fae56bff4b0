"""Fortran. OpenMP is off: its threads are the C library's."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "print '(I0)', 6\nend",
    Kind.COMPILE_ERROR: "prin *, 6\nend",
    Kind.EXIT_CODE: "stop 3\nend",
    Kind.CPU: """
integer :: n
n = 0
do while (n >= 0)
  n = mod(n + 1, 1000)
end do
end
""",
    Kind.SLEEP: "call sleep(60)\nend",
    Kind.MEMORY: """
type :: block
  integer, allocatable :: values(:)
end type
type(block) :: kept(100000)
integer :: i
do i = 1, size(kept)
  allocate(kept(i)%values(1048576))
  kept(i)%values = i
end do
end
""",
    Kind.FLOOD: "do\n  print '(A)', repeat('x', 1000)\nend do\nend",
    Kind.BIG_STDIN: """
program count
  implicit none
  character(len=1000) :: line
  integer :: lines, xs, status, i
  lines = 0
  xs = 0
  do
    read (*, '(A)', iostat=status) line
    if (status /= 0) exit
    lines = lines + 1
    do i = 1, len_trim(line)
      if (line(i:i) == 'x') xs = xs + 1
    end do
  end do
  print '(I0, 1X, I0)', lines, xs
end program
""",
    Kind.UNICODE: """
program echo
  implicit none
  character(len=1000) :: line
  read (*, '(A)') line
  print '(A, A, A)', '→', trim(line), '✓'
end program
""",
    Kind.THREADS: """
module work
  use iso_c_binding
  implicit none
  integer :: sums(4) = 0
  interface
    integer(c_int) function pthread_create(thread, attributes, start, argument) bind(c)
      import
      integer(c_intptr_t) :: thread
      type(c_ptr), value :: attributes, argument
      type(c_funptr), value :: start
    end function
    integer(c_int) function pthread_join(thread, result) bind(c)
      import
      integer(c_intptr_t), value :: thread
      type(c_ptr), value :: result
    end function
  end interface
contains
  function total(argument) bind(c) result(nothing)
    type(c_ptr), value :: argument
    type(c_ptr) :: nothing
    integer, pointer :: number
    integer :: i
    call c_f_pointer(argument, number)
    do i = 1, 1000
      sums(number) = sums(number) + i
    end do
    nothing = c_null_ptr
  end function
end module

program threads
  use work
  implicit none
  integer(c_intptr_t) :: started(4)
  integer, target :: numbers(4) = [1, 2, 3, 4]
  integer :: i, status
  do i = 1, 4
    status = pthread_create(started(i), c_null_ptr, c_funloc(total), c_loc(numbers(i)))
  end do
  do i = 1, 4
    status = pthread_join(started(i), c_null_ptr)
  end do
  print '(I0)', count(sums == 500500)
end program
""",
    Kind.RECURSION: """
program recursion
  implicit none
  print '(I0)', depth(20000)
contains
  recursive integer function depth(n) result(d)
    integer, intent(in) :: n
    if (n == 0) then
      d = 0
    else
      d = 1 + depth(n - 1)
    end if
  end function
end program
""",
    Kind.ENDLESS_RECURSION: """
program recursion
  implicit none
  print *, f(0.0)
contains
  recursive real function f(n) result(r)
    real, intent(in) :: n
    r = 1 / f(n + 1)
  end function
end program
""",
    Kind.FORBIDDEN: """
program forbidden
  implicit none
  character(len=20) :: paths(2) = [character(len=20) :: '/etc/shadow', '/proc/1/environ']
  character(len=1000) :: line
  integer :: i, status
  logical :: opened
  opened = .false.
  do i = 1, 2
    open (unit=10, file=trim(paths(i)), status='old', action='read', iostat=status)
    if (status /= 0) cycle
    opened = .true.
    read (10, '(A)', iostat=status) line
    print '(A)', trim(line)
    close (10)
  end do
  if (.not. opened) print '(A)', 'refused'
end program
""",
}
