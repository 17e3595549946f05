# SPDX-License-Identifier: Apache-2.0
# TERN_FLAGS: the compiler flags of the project, in TERN_CFLAGS, TERN_CXXFLAGS and TERN_LDFLAGS. CFLAGS, CXXFLAGS and
# LDFLAGS belong to the user. TEST_CXXFLAGS replaces CXXFLAGS for unit tests: by default with less optimisation than the
# library.
AC_DEFUN([TERN_FLAGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors (for developers)])],
                [], [enable_werror=no])
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [build everything with -fsanitize=LIST: address,undefined or thread])],
    [], [enable_sanitizers=no])
  AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])

  TERN_CFLAGS="-Wall -Wextra -Wshadow -Wconversion -fvisibility=hidden -fno-plt -pthread"
  TERN_LDFLAGS="-pthread -Wl,-z,relro -Wl,-z,now -Wl,--enable-new-dtags"
  AS_IF([test "x$enable_werror" = xyes], [TERN_CFLAGS="$TERN_CFLAGS -Werror"])
  # The link of the library fails on undefined names. With sanitizers the program defines their names.
  TERN_COMPLETE="-Wl,-z,defs"
  AS_IF([test "x$enable_sanitizers" != xno], [
    TERN_COMPLETE=
    # A buffer may be MPI_BOTTOM, or begin before or behind the data: addresses wrap around by design.
    tern_wrap=-fno-sanitize=pointer-overflow
    TERN_CFLAGS="$TERN_CFLAGS -fsanitize=$enable_sanitizers $tern_wrap -fno-sanitize-recover=all -fno-omit-frame-pointer"
    TERN_LDFLAGS="$TERN_LDFLAGS -fsanitize=$enable_sanitizers"
    tern_save_CXXFLAGS=$CXXFLAGS; CXXFLAGS="$CXXFLAGS -fsanitize=$enable_sanitizers"
    AC_MSG_CHECKING([whether $CXX links with -fsanitize=$enable_sanitizers])
    AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
      [AC_MSG_ERROR([$CXX cannot link with -fsanitize=$enable_sanitizers])])
    CXXFLAGS=$tern_save_CXXFLAGS
  ])
  TERN_CXXFLAGS="$TERN_CFLAGS -fvisibility-inlines-hidden"

  AC_MSG_CHECKING([for the flag that makes $CXX accept C++20])
  tern_save_CXXFLAGS=$CXXFLAGS
  tern_std=
  for tern_flag in -std=c++20 -std=c++2a; do
    CXXFLAGS="$tern_save_CXXFLAGS $tern_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <concepts>
#include <span>
template <std::integral T> constexpr T twice(T x) { return x + x; }]], [[return twice(0);]])],
      [tern_std=$tern_flag; break])
  done
  CXXFLAGS=$tern_save_CXXFLAGS
  AS_IF([test -z "$tern_std"],
    [AC_MSG_ERROR([$CXX does not compile C++20. Debian and Ubuntu: apt-get install g++ (10 or newer)])])
  AC_MSG_RESULT([$tern_std])
  TERN_CXXFLAGS="$tern_std $TERN_CXXFLAGS"
  AC_SUBST([TERN_CFLAGS])
  AC_SUBST([TERN_CXXFLAGS])
  AC_SUBST([TERN_LDFLAGS])
  AC_SUBST([TERN_COMPLETE])
  TEST_CXXFLAGS=$CXXFLAGS
  AS_IF([test -z "$tern_user_CXXFLAGS"], [TEST_CXXFLAGS="-O1 -g1"])
  AC_SUBST([TEST_CXXFLAGS])
  # The library's line numbers take most of a unit test's link time. Only reports of sanitizers need line numbers.
  TEST_LDFLAGS=
  AS_IF([test "x$enable_sanitizers" = xno], [TEST_LDFLAGS="-Wl,--strip-debug"])
  AC_SUBST([TEST_LDFLAGS])
])
