# SPDX-License-Identifier: Apache-2.0
# TERN_PACKAGE: the option --with-PACKAGE[=DIR|no] and the checks of a required package.
# TERN_OPTIONAL: the same for the headers of an optional package, opened at run time.

# TERN_PACKAGE(name, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE)
# Sets NAME_CFLAGS, NAME_LIBS and tern_NAME (for the summary). With DIR, headers are in DIR/include and the library in
# DIR/lib; without DIR, pkg-config or the compiler's default folders find both.
AC_DEFUN([TERN_PACKAGE], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [where $1 is installed (required; Debian: $5)])],
              [], [with_$1=yes])
  AS_CASE([$with_$1],
    [no], [AC_MSG_ERROR([$1 is required: remove --with-$1=no (--without-$1).
  TERN_WHERE([$1], [$5])])],
    [yes], [PKG_CHECK_MODULES(m4_toupper([$1]), [$1], [tern_$1=`$PKG_CONFIG --modversion $1`],
              [m4_toupper([$1])_LIBS="-l$3"; tern_$1=found])],
    [AS_IF([test ! -f "$with_$1/include/$2"],
       [AC_MSG_ERROR([--with-$1=$with_$1: $with_$1/include/$2 is missing.
  TERN_WHERE([$1], [$5])])])
     m4_toupper([$1])_CFLAGS="-I$with_$1/include"
     m4_toupper([$1])_LIBS="-L$with_$1/lib -Wl,-rpath,$with_$1/lib -l$3"
     tern_$1=$with_$1])
  # System headers give no warnings.
  m4_toupper([$1])_CFLAGS=`AS_ECHO(["$m4_toupper([$1])_CFLAGS"]) | $SED 's/-I\( *\)/-isystem /g'`
  AC_SUBST(m4_toupper([$1])_CFLAGS)
  AC_SUBST(m4_toupper([$1])_LIBS)
  tern_save_CPPFLAGS=$CPPFLAGS; CPPFLAGS="$CPPFLAGS $m4_toupper([$1])_CFLAGS"
  tern_save_LIBS=$LIBS; LIBS="$m4_toupper([$1])_LIBS $LIBS"
  AC_CHECK_HEADER([$2], [], [TERN_MISSING([$1], [the header $2], [$5])])
  AC_CHECK_FUNC([$4], [], [TERN_MISSING([$1], [the library lib$3], [$5])])
  CPPFLAGS=$tern_save_CPPFLAGS; LIBS=$tern_save_LIBS
])

# TERN_OPTIONAL(name, HEADER, DEBIAN-PACKAGE)
# Sets NAME_CFLAGS, tern_NAME (for the summary) and the conditional HAVE_NAME. The build does not link with the package.
AC_DEFUN([TERN_OPTIONAL], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR|no], [where $1 is installed (its headers; Debian: $3)])],
              [], [with_$1=auto])
  tern_$1=no
  AS_CASE([$with_$1],
    [no], [],
    [yes|auto], [PKG_CHECK_MODULES(m4_toupper([$1]), [$1], [tern_$1=`$PKG_CONFIG --modversion $1`], [:])],
    [AS_IF([test ! -f "$with_$1/include/$2"],
       [AC_MSG_ERROR([--with-$1=$with_$1: $with_$1/include/$2 is missing.
  TERN_WHERE([$1], [$3])])])
     m4_toupper([$1])_CFLAGS="-I$with_$1/include"
     tern_$1=$with_$1])
  m4_toupper([$1])_CFLAGS=`AS_ECHO(["$m4_toupper([$1])_CFLAGS"]) | $SED 's/-I\( *\)/-isystem /g'`
  AS_CASE([$with_$1], [no], [],
    [tern_save_CPPFLAGS=$CPPFLAGS; CPPFLAGS="$CPPFLAGS $m4_toupper([$1])_CFLAGS"
     AC_CHECK_HEADER([$2], [AS_IF([test "x$tern_$1" = xno], [tern_$1=found])], [tern_$1=no])
     CPPFLAGS=$tern_save_CPPFLAGS
     AS_IF([test "x$with_$1" = xyes && test "x$tern_$1" = xno], [TERN_MISSING([$1], [the header $2], [$3])])])
  AS_IF([test "x$tern_$1" = xno && test "x$with_$1" != xno],
    [tern_$1="no (not found; Debian: $3)"; m4_toupper([$1])_CFLAGS=; tern_have=no],
    [AS_IF([test "x$tern_$1" = xno], [tern_have=no], [tern_have=yes])])
  AC_SUBST(m4_toupper([$1])_CFLAGS)
  AS_IF([test $tern_have = yes],
    [AC_DEFINE([HAVE_]m4_toupper([$1]), [1], [Define to 1 if the headers of $1 were found.])])
  AM_CONDITIONAL([HAVE_]m4_toupper([$1]), [test $tern_have = yes])
])

# TERN_MISSING(name, PART, DEBIAN-PACKAGE): ends configure with an error and the cure.
AC_DEFUN([TERN_MISSING], [
  AC_MSG_ERROR([$2 of $1 was not found.
  TERN_WHERE([$1], [$3])])
])

# TERN_WHERE(name, DEBIAN-PACKAGE): the text of the cure.
m4_define([TERN_WHERE], [Debian and Ubuntu: apt-get install $2
  In another folder: --with-$1=DIR (DIR/include and DIR/lib).])
