/* SPDX-License-Identifier: Apache-2.0
   Checks for the CUDA driver selected by GPU_TWIN (gpu, soft) and for a device, and prints the
   result. Exits with 77 without a driver or device, with 1 if the other driver is loaded. */
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
