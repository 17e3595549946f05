/* SPDX-License-Identifier: Apache-2.0
   Linked into every GPU test: ends the process before main if the wrong driver is loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void check_twin(void) {
  const char* twin = getenv("GPU_TWIN");
  int soft = dlsym(RTLD_DEFAULT, "softcuda_marker") != NULL;
  if (twin == NULL || soft == (strcmp(twin, "soft") == 0)) return;
  fprintf(stderr, "this is the %s twin, but libcuda.so.1 is %s driver\n", twin,
          soft ? "the software" : "another");
  exit(1);
}
