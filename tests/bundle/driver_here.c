/* SPDX-License-Identifier: Apache-2.0
   Whether the CUDA driver that GPU_TWIN names (gpu, soft) is here, and has a device. Exits
   with 77 if no driver is here, with 1 if it is the other one; says what it found. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*Init)(unsigned flags);
typedef int (*Count)(int* count);
typedef int (*Retain)(void** context, int device);

int main(int argc, char** argv) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    printf("no driver: %s\n", dlerror());
    return 77;
  }
  const char* const twin = getenv("GPU_TWIN");
  const int soft = dlsym(library, "softcuda_marker") != NULL;
  if (soft != (twin != NULL && strcmp(twin, "soft") == 0)) {
    printf("libcuda.so.1 is %s driver; --software DIR runs on the software driver in DIR\n",
           soft ? "the software" : "not the software");
    return 1;
  }
  const Init init = (Init)dlsym(library, "cuInit");
  const Count count = (Count)dlsym(library, "cuDeviceGetCount");
  int devices = 0;
  const int result = init == NULL || count == NULL ? -1 : init(0);
  if (result != 0 || count(&devices) != 0 || devices == 0) {
    printf("no device: cuInit gives %d, %d devices\n", result, devices);
    return 77;
  }
  printf("%s driver, %d device%s\n", soft ? "software" : "real", devices, devices == 1 ? "" : "s");
  fflush(stdout);
  void* context = NULL;
  const Retain retain = (Retain)dlsym(library, "cuDevicePrimaryCtxRetain");
  if (argc > 1 && strcmp(argv[1], "hold") == 0 && retain != NULL && retain(&context, 0) == 0)
    (void)pause();
  return 0;
}
