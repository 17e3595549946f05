# SPDX-License-Identifier: Apache-2.0
# TERN_NVCC: the compiler of the kernels. --with-cuda[=DIR|no] says where the CUDA toolkit is, --with-cuda-arch which
# GPUs to compile for. Without one the build has no kernels, and device memory is reduced and packed by other means.
# Sets NVCC, NVCC_ARCHITECTURES, KERNELS_WORDS, HAVE_NVCC and tern_cuda (for the summary).
AC_DEFUN([TERN_NVCC], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
    [the CUDA toolkit whose DIR/bin/nvcc compiles the kernels (looked for in PATH and /usr/local/cuda)])],
    [], [with_cuda=yes])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
    [compute capabilities to compile for, as "80 90" (default: 75 80 90 100 120, those that nvcc knows)])],
    [], [with_cuda_arch="75 80 90 100 120"])
  NVCC=
  AS_CASE([$with_cuda],
    [no], [],
    [yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [NVCC=$with_cuda/bin/nvcc
     AS_IF([test ! -x "$NVCC"], [AC_MSG_ERROR([--with-cuda=$with_cuda: there is no $NVCC.
  Give the folder of a CUDA toolkit (it has bin/nvcc), or --with-cuda=no for a build without kernels.])])])
  NVCC_ARCHITECTURES=
  tern_archs=
  AS_IF([test -n "$NVCC"], [
    AC_MSG_CHECKING([which of "$with_cuda_arch" $NVCC compiles for])
    tern_nvcc_knows=" `$NVCC --list-gpu-arch 2>/dev/null | $SED 's/compute_//' | tr '\n' ' '`"
    tern_same=
    for tern_arch in `printf '%s\n' $with_cuda_arch | sort -nu`; do
      AS_CASE([$tern_nvcc_knows], [*" $tern_arch "*], [], [continue])
      # nvcc's front end takes most of its time, and makes the same PTX for all of one group: it runs once a group.
      AS_CASE([$tern_arch], [8?|9?], [tern_group=80], [1??], [tern_group=100], [tern_group=$tern_arch])
      AS_IF([test "x$tern_group" = "x$tern_same"],
        [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES,sm_$tern_arch"],
        [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES${tern_same:+@:>@} -gencode=arch=compute_$tern_arch,code=@<:@sm_$tern_arch"])
      tern_same=$tern_group
      tern_archs="$tern_archs$tern_arch "
    done
    AC_MSG_RESULT([${tern_archs:-none}])
    AS_IF([test -z "$tern_archs"],
      [AC_MSG_ERROR([$NVCC compiles for none of "$with_cuda_arch"; it knows$tern_nvcc_knows])])
    NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES@:>@"
    # Newer GPUs than nvcc knows translate the PTX of compute capability 10.0, or of the newest that is built.
    AS_CASE([" $tern_archs"], [*" 100 "*], [tern_ptx=100], [tern_ptx=`AS_ECHO(["$tern_archs"]) | $SED 's/.* \([[0-9]]*\) $/\1/; s/ //g'`])
    NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$tern_ptx,code=compute_$tern_ptx"
    tern_nvcc_version=`$NVCC --version | $SED -n 's/.*release.*V\([[0-9.]]*\).*/\1/p'`
    tern_cuda="kernels for ${tern_archs}(PTX $tern_ptx), nvcc $tern_nvcc_version"
  ], [
    tern_cuda="no kernels (nvcc was not found: --with-cuda=DIR); device memory is moved all the same"
    AS_IF([test "x$with_cuda" = xno], [tern_cuda="no kernels (--with-cuda=no); device memory is moved all the same"])
  ])
  AC_SUBST([NVCC])
  AC_SUBST([NVCC_ARCHITECTURES])
  AC_SUBST([KERNELS_WORDS], [$tern_cuda])
  AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
])
