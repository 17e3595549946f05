/* SPDX-License-Identifier: Apache-2.0
   How the software driver runs a kernel: the C interface of libtern_kernels_host.so, which holds
   the kernels of src/cuda/kernels compiled for the host.
   Life: dlopen, tern_host_kernels() once, translate set, find and launch at will.
   Threads: everything may be called from any thread; launch runs the whole grid on the calling
   thread (a stream's) and returns when all of its threads have ended.
   Residency: before a block begins the driver is asked for a place on the device, and it has it
   back when the block ends. Blocks that have none wait; those that have one run beside one another,
   so that a block may wait for another's store, if both are resident. Pointers: the driver
   translates nothing. A parameter holds the addresses that the program knows; kernels translate
   each of them, and those that they load from memory, by `translate`. */
#ifndef TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H
#define TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define TERN_HOST_KERNELS_VERSION 4

typedef struct TernHostKernel {
  const char* name;       /* as cuLibraryGetKernel asks for it */
  size_t parameter_bytes; /* each kernel has one parameter, a struct by value, at offset 0 */
  size_t shared_bytes;    /* static shared memory of a block */
  int max_threads;        /* of a block */
  int synchronises;       /* its threads wait for one another: they run as fibers */
} TernHostKernel;

typedef struct TernLaunch {
  unsigned grid[3];
  unsigned block[3];
  size_t shared_bytes; /* dynamic shared memory */
  int cooperative;     /* all blocks begin together (cuLaunchCooperativeKernel) */
} TernLaunch;

typedef struct TernHostKernels {
  int version; /* TERN_HOST_KERNELS_VERSION */
  size_t count;
  const TernHostKernel* kernels;
  /* Gives the host address behind a device address, and any other address as it is. Called by
     kernels with each pointer; until it is set addresses are used as they are. */
  void (*set_translate)(void* (*translate)(const void* address));
  /* Called on the launching thread: 1 where a block may begin there and then, and when it has
     ended. Until they are set a grid has as many places as it likes. */
  void (*set_places)(int (*take)(void), void (*give)(void));
  /* How a store to an address (a translated one) arrives: 0 in order, 1 in any order but for the
     lines of 128 bytes, 2 in any order. Until it is set: in order. See weak.hpp. */
  void (*set_arrival)(int (*arrival)(const void* address));
  /* The memory of all devices behind a multicast address (a translated one): how many there are. */
  void (*set_copies)(int (*copies)(const void* address, void** found, int most));
  /* The kernel of that name, or a null pointer. */
  const TernHostKernel* (*find)(const char* name);
  /* Runs it. `parameter` was copied by the driver when the launch was enqueued. Returns 0, or a
     CUresult: CUDA_ERROR_INVALID_VALUE (1) for a grid or block that no device takes,
     CUDA_ERROR_LAUNCH_TIMEOUT (702) when the watchdog ended a kernel in which no thread moved on
     (HOST_KERNELS_TIMEOUT seconds, 20 at first); `why` (of `room` bytes) then says it. */
  int (*launch)(const TernHostKernel* kernel, const TernLaunch* launch, const void* parameter,
                char* why, size_t room);
} TernHostKernels;

/* The one name that the driver looks for with dlsym: "tern_host_kernels". */
const TernHostKernels* tern_host_kernels(void);

#if defined(__cplusplus)
}
#endif

#endif /* TERN_TESTS_SOFTCUDA_SHIM_LAUNCH_H */
