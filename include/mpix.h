/* SPDX-License-Identifier: Apache-2.0
   Tern's extensions of MPI: names that begin with MPIX_.
   Why: mpi.h is the standard ABI and nothing else; who needs more says so by including this. */
#ifndef MPIX_H_TERN
#define MPIX_H_TERN

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Floating point of 16 bits: IEEE binary16 (C's _Float16, CUDA's __half) and bfloat16
   (__nv_bfloat16). MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX take them; each result is rounded to
   nearest even. The names are those of MPICH and Open MPI; MPI-5.0 gives these handles to nothing
   else. */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x24a)
#define MPIX_BFLOAT16 ((MPI_Datatype)0x24c)
#define MPIX_FLOAT16 MPIX_C_FLOAT16
#define MPIX_C_BF16 MPIX_BFLOAT16

/* Kinds of GPU for MPIX_GPU_query_support. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

/* 1 where buffers in CUDA memory may be passed to communication calls, 0 otherwise. */
int MPIX_Query_cuda_support(void);
/* The same for one kind of GPU: *is_supported becomes 1 or 0. MPI_ERR_ARG for an unknown kind. */
int MPIX_GPU_query_support(int gpu_type, int* is_supported);

int PMPIX_Query_cuda_support(void);
int PMPIX_GPU_query_support(int gpu_type, int* is_supported);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#if defined(__cplusplus)
}
#endif

#endif /* MPIX_H_TERN */
