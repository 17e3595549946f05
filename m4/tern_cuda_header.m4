# SPDX-License-Identifier: Apache-2.0
# TERN_CUDA_HEADER: finds the toolkit's cuda.h for a unit test of Tern's own declarations (src/cuda).
# Sets CUDA_HEADER_CFLAGS and the conditional HAVE_CUDA_H.
AC_DEFUN([TERN_CUDA_HEADER], [
  tern_cuda_h=
  for tern_dir in "$with_cuda" "$CUDA_HOME" /usr/local/cuda /opt/cuda /usr; do
    AS_IF([test -z "$tern_cuda_h" && test -f "$tern_dir/include/cuda.h"], [tern_cuda_h=$tern_dir/include])
  done
  AC_SUBST([CUDA_HEADER_CFLAGS], ["-isystem $tern_cuda_h"])
  AM_CONDITIONAL([HAVE_CUDA_H], [test -n "$tern_cuda_h"])
])
