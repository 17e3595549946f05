// SPDX-License-Identifier: Apache-2.0
// Records the functions that a thread enters and leaves, for tests/bench/paths/run. Preloaded; the
// library needs -finstrument-functions. The program calls paths_record.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 1 << 20 };
static struct {
  void* function;
  int enters;
} events[kMost];
static int count;
static __thread int records;

void __cyg_profile_func_enter(void* function, void* from);
void __cyg_profile_func_exit(void* function, void* from);
void paths_record(const char* file);

static void note(void* function, int enters) {
  if (!records || count == kMost) return;
  events[count].function = function;
  events[count++].enters = enters;
}

void __cyg_profile_func_enter(void* function, void* from) {
  (void)from;
  note(function, 1);
}

void __cyg_profile_func_exit(void* function, void* from) {
  (void)from;
  note(function, 0);
}

// Null begins the record. A file name ends the record and writes a line per event: + or -, library,
// offset.
void paths_record(const char* file) {
  records = file == NULL;
  if (records) {
    count = 0;
    return;
  }
  FILE* const out = fopen(file, "w");
  if (out == NULL) abort();
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(events[i].function, &info) == 0) abort();
    fprintf(out, "%c %s %lx\n", events[i].enters ? '+' : '-', info.dli_fname,
            (unsigned long)((uintptr_t)events[i].function - (uintptr_t)info.dli_fbase));
  }
  if (fclose(out) != 0 || count == kMost) abort();
}
