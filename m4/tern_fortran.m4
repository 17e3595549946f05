# SPDX-License-Identifier: Apache-2.0
# TERN_FORTRAN: the option --with-fortran[=COMPILER|no] and the check of a Fortran compiler for the modules mpi and mpi_f08
# (src/fortran). Sets FC, WRAP_FC, FORTRAN_NAME (compiler and major version: its module files lie in a folder of this name),
# tern_fortran (for the summary) and the conditional HAVE_FORTRAN. The check runs a program: the library reads array descriptors,
# and mpifort passes -fallow-argument-mismatch (GCC 10).
AC_DEFUN([TERN_FORTRAN], [
  AC_ARG_WITH([fortran], [AS_HELP_STRING([--with-fortran=COMPILER|no], [the Fortran compiler (Debian: gfortran)])],
              [], [with_fortran=auto])
  AS_CASE([$with_fortran], [no], [FC=], [yes|auto], [AC_CHECK_TOOLS([FC], [gfortran])], [FC=$with_fortran])
  tern_fortran="no (not found; Debian: gfortran)"
  AS_IF([test -n "$FC"], [
    AC_MSG_CHECKING([whether $FC is gfortran 10 or newer, with its array descriptors])
    AS_IF([($CC -I$srcdir/include -I$srcdir/src -c $srcdir/src/fortran/probe.c -o conftest.o &&
            $FC -fallow-argument-mismatch $srcdir/src/fortran/probe.f90 conftest.o -o conftest$EXEEXT && ./conftest$EXEEXT) >&AS_MESSAGE_LOG_FD 2>&1],
      [AC_MSG_RESULT([yes])
       tern_fortran=$FC
       FORTRAN_NAME=gfortran-`$FC -dumpversion | $SED 's/\..*//'`],
      [AC_MSG_RESULT([no]); tern_fortran="no ($FC does not pass the check: config.log)"
       AS_CASE([$with_fortran], [auto], [], [AC_MSG_ERROR([$FC does not pass the check of array descriptors: see config.log.
  Debian and Ubuntu: apt-get install gfortran (10 or newer). Without Fortran: --with-fortran=no])])])
    rm -f conftest.o conftest$EXEEXT],
    [AS_CASE([$with_fortran], [no], [tern_fortran=no],
      [yes], [AC_MSG_ERROR([gfortran was not found. Debian and Ubuntu: apt-get install gfortran])])])
  AC_SUBST([FC])
  AC_SUBST([FORTRAN_NAME])
  AC_SUBST([WRAP_FC], [${FC:-gfortran}])
  AM_CONDITIONAL([HAVE_FORTRAN], [test -n "$FORTRAN_NAME"])
])
