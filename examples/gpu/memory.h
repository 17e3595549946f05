/* SPDX-License-Identifier: Apache-2.0
 * GPU memory, or host memory without a GPU, by eight functions of the CUDA driver.
 * Why: the example needs no CUDA toolkit; programs with it use cudaMalloc, cudaMemcpy, cudaFree. */
#ifndef EXAMPLES_GPU_MEMORY_H
#define EXAMPLES_GPU_MEMORY_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in cuda.h, where a device address is an integer. All return 0 for success. */
typedef struct {
  int (*init)(unsigned flags);
  int (*count)(int* devices);
  int (*name)(char* name, int length, int device);
  int (*context)(void** context, int device);
  int (*use)(void* context);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*copy)(uint64_t to, uint64_t from, size_t bytes);
} Driver;

static Driver driver;
static int on_gpu;

/* Finds all functions; returns the first missing name, or null. */
static const char* find_functions(void* library) {
  const struct {
    const char* name;
    void* into;
  } wanted[] = {
      {"cuInit", &driver.init},          {"cuDeviceGetCount", &driver.count},
      {"cuDeviceGetName", &driver.name}, {"cuDevicePrimaryCtxRetain", &driver.context},
      {"cuCtxSetCurrent", &driver.use},  {"cuMemAlloc_v2", &driver.allocate},
      {"cuMemFree_v2", &driver.release}, {"cuMemcpy", &driver.copy},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    void* const function = dlsym(library, wanted[i].name);
    if (function == NULL) return wanted[i].name;
    memcpy(wanted[i].into, &function, sizeof function);
  }
  return NULL;
}

/* Chooses a GPU by `local_rank` in turn and writes its name into `said`; without a GPU the reason.
 */
static void choose_memory(int local_rank, char* said, size_t length) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const char* missing;
  char name[100];
  void* context;
  int gpus = 0, code;
  if (library == NULL) {
    snprintf(said, length, "host memory: there is no libcuda.so.1");
  } else if ((missing = find_functions(library)) != NULL) {
    snprintf(said, length, "host memory: libcuda.so.1 has no %s", missing);
  } else if ((code = driver.init(0)) != 0 || (code = driver.count(&gpus)) != 0) {
    snprintf(said, length, "host memory: the CUDA driver returns error %d", code);
  } else if (gpus == 0) {
    snprintf(said, length, "host memory: there is no GPU");
  } else {
    const int gpu = local_rank % gpus;
    if ((code = driver.name(name, sizeof name, gpu)) != 0 ||
        (code = driver.context(&context, gpu)) != 0 || (code = driver.use(context)) != 0) {
      snprintf(said, length, "host memory: GPU %d returns error %d", gpu, code);
      return;
    }
    snprintf(said, length, "memory of GPU %d, %s", gpu, name);
    on_gpu = 1;
  }
}

static void* new_memory(size_t bytes) {
  uint64_t address = 0;
  void* const memory = on_gpu ? NULL : malloc(bytes);
  if (on_gpu && driver.allocate(&address, bytes) == 0) return (void*)(uintptr_t)address;
  if (memory != NULL) return memory;
  fprintf(stderr, "cannot allocate %zu bytes\n", bytes);
  exit(1);
}

static void free_memory(void* memory) {
  if (on_gpu)
    driver.release((uintptr_t)memory);
  else
    free(memory);
}

/* Copies between host memory and memory of new_memory(). */
static void copy_memory(void* to, const void* from, size_t bytes) {
  const int code = on_gpu ? driver.copy((uintptr_t)to, (uintptr_t)from, bytes) : 0;
  if (!on_gpu) memcpy(to, from, bytes);
  if (code == 0) return;
  fprintf(stderr, "copying %zu bytes: the CUDA driver returns error %d\n", bytes, code);
  exit(1);
}

#endif /* EXAMPLES_GPU_MEMORY_H */
