/* SPDX-License-Identifier: Apache-2.0
   The C interface of libtern_kernels_host.so: the kernels of src/cuda/kernels, for the host.
   Life: dlopen, tern_host_kernels() once, the setters, then find and launch.
   Threads: any. launch runs the whole grid on the calling thread, and returns after its end.
   Residency: a block takes a place on the device from the driver, and returns the place at its end.
   Blocks without a place wait. Resident blocks may wait for each other's stores.
   Pointers: parameters hold device addresses. Kernels translate each address by `translate`. */
#ifndef TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H
#define TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define TERN_HOST_KERNELS_VERSION 4

typedef struct TernHostKernel {
  const char* name;       /* for cuLibraryGetKernel */
  size_t parameter_bytes; /* each kernel has a single parameter, a struct by value */
  size_t shared_bytes;    /* static shared memory of a block */
  int max_threads;        /* of a block */
  int synchronises;       /* threads wait for each other, so run as fibers */
} TernHostKernel;

typedef struct TernLaunch {
  unsigned grid[3];
  unsigned block[3];
  size_t shared_bytes; /* dynamic shared memory */
  int cooperative;     /* all blocks are resident (cuLaunchCooperativeKernel) */
} TernLaunch;

typedef struct TernHostKernels {
  int version; /* TERN_HOST_KERNELS_VERSION */
  size_t count;
  const TernHostKernel* kernels;
  /* Maps a device address to its host address, and keeps other addresses. Kernels call it for
     each pointer. Default: no translation. */
  void (*set_translate)(void* (*translate)(const void* address));
  /* Called on the launching thread: take returns 1 if a block may begin, give follows its end.
     Default: unlimited places. */
  void (*set_places)(int (*take)(void), void (*give)(void));
  /* Arrival of stores to a translated address: 0 in order, 1 in any order with whole lines of 128
     bytes, 2 in any order. Default: 0. See weak.hpp. */
  void (*set_arrival)(int (*arrival)(const void* address));
  /* Finds the memory of all devices behind a translated multicast address. Returns the number. */
  void (*set_copies)(int (*copies)(const void* address, void** found, int most));
  /* Returns the kernel, or null. */
  const TernHostKernel* (*find)(const char* name);
  /* Runs a kernel with the driver's copy of `parameter`. Returns 0, or a CUresult with `why` (of
     `room` bytes): CUDA_ERROR_INVALID_VALUE (1) for an impossible grid or block,
     CUDA_ERROR_LAUNCH_TIMEOUT (702) after HOST_KERNELS_TIMEOUT seconds (default 20) without
     progress of any thread. */
  int (*launch)(const TernHostKernel* kernel, const TernLaunch* launch, const void* parameter,
                char* why, size_t room);
} TernHostKernels;

/* The driver finds this function by dlsym. */
const TernHostKernels* tern_host_kernels(void);

#if defined(__cplusplus)
}
#endif

#endif /* TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H */
