// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: initialises CUDA before main, to measure the effect of a driver on
// messages of host memory. gcc -shared -fPIC -o alive.so tests/bench/gpu/alive.c -ldl
#include <dlfcn.h>
#include <stdio.h>

__attribute__((constructor)) static void bring_to_life(void) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = NULL;
  int (*retain)(void**, int) = NULL;
  void* context = NULL;
  if (driver != NULL) {
    *(void**)&init = dlsym(driver, "cuInit");
    *(void**)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  }
  if (init == NULL || retain == NULL || init(0) != 0 || retain(&context, 0) != 0)
    fprintf(stderr, "alive: no CUDA here\n");
}
