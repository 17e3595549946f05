# SPDX-License-Identifier: Apache-2.0
# TERN_PCH: decides whether the build precompiles system headers (src/precompiled). Only with g++: clang refuses a
# precompiled header with different flags, whereas g++ then reads the text. Not with ccache, which would not cache the
# objects.
# Sets the conditional PCH and tern_pch (for the summary).
AC_DEFUN([TERN_PCH], [
  AC_ARG_ENABLE([pch], [AS_HELP_STRING([--disable-pch], [do not precompile headers])], [], [enable_pch=auto])
  AC_MSG_CHECKING([whether $CXX precompiles headers])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if defined __clang__ || !defined __GNUC__
#error "another compiler"
#endif
]])], [tern_pch=yes], [tern_pch="no (not g++)"])
  AS_IF([test "x$enable_pch" = xno], [tern_pch="no (--disable-pch)"])
  AS_IF([test "x$tern_pch" = xyes && test "x$enable_pch" != xyes], [
    for tern_word in $CXX; do break; done
    tern_path=`command -v "$tern_word"`
    AS_CASE(["$tern_word `readlink -f "$tern_path"`"], [*ccache*], [tern_pch="no (ccache)"])
  ])
  AC_MSG_RESULT([$tern_pch])
  AM_CONDITIONAL([PCH], [test "x$tern_pch" = xyes])
])
