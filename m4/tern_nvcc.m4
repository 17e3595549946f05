# SPDX-License-Identifier: Apache-2.0
# TERN_NVCC: finds nvcc, the compiler of the kernels. --with-cuda[=DIR|no]: the CUDA toolkit. --with-cuda-arch: the
# compute capabilities. A build without nvcc has no kernels; the host reduces device memory, and the driver's copies pack.
# --with-cuda-legacy=NVCC: an older toolkit compiles a second image, for older GPUs (sm_70) and drivers.
# configure compiles a test kernel, with the build's compiler as nvcc's host compiler, or else with nvcc's default. So an
# old nvcc, or a refused host compiler, fails in configure and not in make.
# Sets NVCC, NVCC_HOST, NVCC_ARCHITECTURES, KERNELS_WORDS, HAVE_NVCC, the same names with LEGACY, and tern_cuda (for the summary).
AC_DEFUN([TERN_NVCC], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
    [CUDA toolkit for the kernels, with DIR/bin/nvcc (default: nvcc in PATH or /usr/local/cuda/bin)])],
    [], [with_cuda=yes])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
    [compute capabilities to compile for, as "80 90" (default: 75 80 90 100 120, as far as nvcc supports)])],
    [], [with_cuda_arch="75 80 90 100 120"])
  AC_ARG_WITH([cuda-legacy], [AS_HELP_STRING([--with-cuda-legacy=NVCC],
    [nvcc of an older CUDA toolkit (12.x), for a second image of the kernels: for sm_70 and drivers before 580])],
    [], [with_cuda_legacy=no])
  AC_ARG_WITH([cuda-legacy-arch], [AS_HELP_STRING([--with-cuda-legacy-arch=LIST],
    [compute capabilities of the second image (default: 70 75 80 90, as far as its nvcc supports)])],
    [], [with_cuda_legacy_arch="70 75 80 90"])
  NVCC=
  AS_CASE([$with_cuda],
    [no], [],
    [yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [NVCC=$with_cuda/bin/nvcc
     AS_IF([test ! -x "$NVCC"], [AC_MSG_ERROR([--with-cuda=$with_cuda: $NVCC is missing or not executable.
  Pass the folder of a CUDA toolkit with bin/nvcc, or --with-cuda=no for a build without kernels.])])])
  TERN_NVCC_IMAGE([$with_cuda_arch], [with_cuda])
  AS_IF([test -n "$NVCC"], [tern_cuda=$tern_nvcc_words], [
    AS_IF([test -z "$tern_nvcc_refused"],
      [tern_cuda="no kernels (nvcc was not found: --with-cuda=DIR); device memory is still supported"],
      [tern_cuda="no kernels ($tern_nvcc_refused); device memory is still supported"])
    AS_IF([test "x$with_cuda" = xno], [tern_cuda="no kernels (--with-cuda=no); device memory is still supported"])
  ])
  KERNELS_WORDS=$tern_cuda
  tern_nvcc=$NVCC tern_nvcc_host=$NVCC_HOST tern_nvcc_architectures=$NVCC_ARCHITECTURES
  NVCC= NVCC_HOST= NVCC_ARCHITECTURES=
  AS_CASE([$with_cuda_legacy],
    [no], [],
    [NVCC=$with_cuda_legacy
     AS_IF([test -z "$tern_nvcc"], [AC_MSG_ERROR([--with-cuda-legacy=$with_cuda_legacy adds a second image, but the first is missing: $tern_cuda.
  Pass the toolkit of the first image by --with-cuda=DIR.])])
     AS_IF([test ! -f "$NVCC" || test ! -x "$NVCC"], [AC_MSG_ERROR([--with-cuda-legacy=$NVCC is not an executable file.
  Pass the path of nvcc of a CUDA toolkit 12.x, such as /usr/local/cuda-12.9/bin/nvcc.])])
     TERN_NVCC_IMAGE([$with_cuda_legacy_arch], [with_cuda_legacy])
     KERNELS_LEGACY_WORDS=$tern_nvcc_words
     tern_cuda="$tern_cuda; then $tern_nvcc_words"])
  LEGACY_NVCC=$NVCC LEGACY_NVCC_HOST=$NVCC_HOST LEGACY_NVCC_ARCHITECTURES=$NVCC_ARCHITECTURES
  NVCC=$tern_nvcc NVCC_HOST=$tern_nvcc_host NVCC_ARCHITECTURES=$tern_nvcc_architectures
  AC_SUBST([NVCC])
  AC_SUBST([NVCC_HOST])
  AC_SUBST([NVCC_ARCHITECTURES])
  AC_SUBST([KERNELS_WORDS])
  AC_SUBST([LEGACY_NVCC])
  AC_SUBST([LEGACY_NVCC_HOST])
  AC_SUBST([LEGACY_NVCC_ARCHITECTURES])
  AC_SUBST([KERNELS_LEGACY_WORDS])
  AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
  AM_CONDITIONAL([HAVE_LEGACY_NVCC], [test -n "$LEGACY_NVCC"])
])

# TERN_NVCC_IMAGE(ARCHITECTURES, VARIABLE OF THE OPTION): the flags of an image. Sets NVCC_HOST, NVCC_ARCHITECTURES and
# tern_nvcc_words, to empty strings if NVCC is empty.
AC_DEFUN([TERN_NVCC_IMAGE], [
  NVCC_HOST=
  NVCC_ARCHITECTURES=
  tern_archs=
  tern_nvcc_refused=
  tern_nvcc_words=
  AS_IF([test -n "$NVCC"], [
    AC_MSG_CHECKING([which of "$1" $NVCC compiles for])
    tern_nvcc_knows=" `$NVCC --list-gpu-arch 2>/dev/null | $SED 's/compute_//' | tr '\n' ' '`"
    tern_same=
    for tern_arch in `printf '%s\n' $1 | sort -nu`; do
      AS_CASE([$tern_nvcc_knows], [*" $tern_arch "*], [], [continue])
      # The front end takes most of nvcc's time. All architectures of a group have the same PTX: one front-end run per group.
      AS_CASE([$tern_arch], [8?|9?], [tern_group=80], [1??], [tern_group=100], [tern_group=$tern_arch])
      AS_IF([test "x$tern_group" = "x$tern_same"],
        [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES,sm_$tern_arch"],
        [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES${tern_same:+@:>@} -gencode=arch=compute_$tern_arch,code=@<:@sm_$tern_arch"])
      tern_same=$tern_group
      tern_archs="$tern_archs$tern_arch "
    done
    AC_MSG_RESULT([${tern_archs:-none}])
    AS_IF([test -z "$tern_archs"],
      [AC_MSG_ERROR([$NVCC supports none of the compute capabilities "$1", only$tern_nvcc_knows])])
    NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES@:>@"
    # Drivers of newer GPUs compile the PTX of compute capability 10.0, or of the newest architecture built.
    AS_CASE([" $tern_archs"], [*" 100 "*], [tern_ptx=100], [tern_ptx=`AS_ECHO(["$tern_archs"]) | $SED 's/.* \([[0-9]]*\) $/\1/; s/ //g'`])
    NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$tern_ptx,code=compute_$tern_ptx"
    TERN_NVCC_TRY([$2])
  ])
  AS_IF([test -n "$NVCC"], [
    tern_nvcc_version=`$NVCC --version | $SED -n 's/.*release.*V\([[0-9.]]*\).*/\1/p'`
    tern_nvcc_words="kernels for ${tern_archs}(PTX $tern_ptx), nvcc $tern_nvcc_version"
  ])
])

# TERN_NVCC_TRY(VARIABLE OF THE OPTION): compiles a kernel with features of the library's kernels, for all architectures. Sets
# NVCC_HOST. On failure ends configure if the user asked for this nvcc; otherwise empties NVCC and sets tern_nvcc_refused to the
# reason.
AC_DEFUN([TERN_NVCC_TRY], [
  AC_MSG_CHECKING([whether $NVCC compiles a kernel])
  tern_host=
  for tern_word in $CXX; do
    AS_CASE([$tern_word], [ccache|*/ccache|distcc|*/distcc], [], [tern_host=$tern_word; break])
  done
  cat >conftest.cu <<'_ACEOF'
#include <cstdint>
#include <type_traits>
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <Number T>
__device__ T twice(T value) { return value + value; }
extern "C" __global__ void conftest(float* to, std::uint64_t count) {
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) to@<:@i@:>@ = twice(to@<:@i@:>@);
}
_ACEOF
  tern_compiled=no
  for NVCC_HOST in "-ccbin $tern_host" ""; do
    AS_IF([$NVCC $NVCC_HOST -std=c++20 $NVCC_ARCHITECTURES -fatbin -o conftest.fatbin conftest.cu >conftest.log 2>&1],
      [tern_compiled=yes; break])
    cat conftest.log >&AS_MESSAGE_LOG_FD
  done
  tern_nvcc_says=`$SED -n '/error\|fatal\|unsupported/{p;q;}' conftest.log`
  rm -f conftest.cu conftest.fatbin conftest.log
  AS_IF([test $tern_compiled = yes], [AC_MSG_RESULT([yes${NVCC_HOST:+, with $tern_host}])], [
    AC_MSG_RESULT([no])
    AS_IF([test "x$$1" != xyes],
      [AC_MSG_ERROR([--m4_translit([$1], [_], [-])=$$1: $NVCC does not compile a kernel: $tern_nvcc_says
  The kernels need C++20 (CUDA 12.0 or later) and a host compiler accepted by this nvcc (CXX=...); see config.log.
  --m4_translit([$1], [_], [-])=no builds without these kernels.])])
    AC_MSG_WARN([$NVCC does not compile a kernel: $tern_nvcc_says])
    tern_nvcc_refused="$NVCC cannot compile a kernel: see config.log"
    NVCC= NVCC_HOST= NVCC_ARCHITECTURES=
  ])
])
