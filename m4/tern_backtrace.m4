# SPDX-License-Identifier: Apache-2.0
# TERN_BACKTRACE: looks for libbacktrace, for functions, files and lines in the backtrace of a crashing rank. Without
# libbacktrace a backtrace has only exported names and addresses. Source: GCC (Debian and Ubuntu: libgcc-VERSION-dev,
# installed with g++). Adds the library to LIBS, preferably static, so that a program may load another version. Defines
# HAVE_LIBBACKTRACE.
AC_DEFUN([TERN_BACKTRACE], [
  AC_ARG_WITH([libbacktrace],
    [AS_HELP_STRING([--with-libbacktrace=DIR], [where libbacktrace is installed (optional; comes with GCC)])],
    [], [with_libbacktrace=yes])
  tern_libbacktrace="no (backtraces without files and lines; comes with g++, or --with-libbacktrace=DIR)"
  tern_save_LIBS=$LIBS; tern_save_CPPFLAGS=$CPPFLAGS
  AS_CASE([$with_libbacktrace], [yes|no], [tern_dirs=],
    [AS_IF([test ! -f "$with_libbacktrace/include/backtrace.h"],
      [AC_MSG_ERROR([--with-libbacktrace=$with_libbacktrace: include/backtrace.h is missing])])
     tern_dirs="-L$with_libbacktrace/lib"; CPPFLAGS="$CPPFLAGS -isystem $with_libbacktrace/include"])
  AS_IF([test "x$with_libbacktrace" != xno], [
    for tern_lib in -l:libbacktrace.a -lbacktrace; do
      AC_MSG_CHECKING([for libbacktrace by $tern_lib])
      LIBS="$tern_dirs $tern_lib $tern_save_LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <backtrace.h>]],
          [[return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr;]])],
        [AC_MSG_RESULT([yes]); tern_libbacktrace="yes ($tern_dirs $tern_lib)"; break], [AC_MSG_RESULT([no])])
    done])
  AS_CASE([$tern_libbacktrace],
    [yes*], [AC_DEFINE([HAVE_LIBBACKTRACE], [1], [Define to 1 if libbacktrace is linked.])],
    [LIBS=$tern_save_LIBS; CPPFLAGS=$tern_save_CPPFLAGS
     AS_CASE([$with_libbacktrace], [yes|no], [],
       [AC_MSG_ERROR([--with-libbacktrace=$with_libbacktrace: lib/libbacktrace.* is missing, or cannot be linked])])])
])
