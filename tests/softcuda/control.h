/* SPDX-License-Identifier: Apache-2.0
   Functions of the software driver for tests. Look them up by dlsym, because the real driver has
   none of them. */
#ifndef TERN_TESTS_SOFTCUDA_CONTROL_H
#define TERN_TESTS_SOFTCUDA_CONTROL_H

#if defined(__cplusplus)
extern "C" {
#endif

/* Present in the software driver only. */
extern const int softcuda_marker;

/* Requests failures as SOFTCUDA_FAULT does, counted from now on. An empty text clears all. */
void softcuda_fault(const char* rows);
/* The number of calls of a function so far. */
unsigned long long softcuda_calls(const char* function);
/* The name of the n-th function called so far, or null. */
const char* softcuda_function(unsigned n);
/* The number of live "allocations", "bytes" (of device memory), "streams", "events",
   "imports", "mappings", "handles", "pools", "graphs", "libraries", "host". */
long long softcuda_live(const char* kind);
/* The ledger (ledger.cc). Calls of a kind so far: "copy", "launch", "operation" (on a semaphore),
 * "event", "sync", "import", "memory", "make", "ask". */
unsigned long long softcuda_calls_of_kind(const char* kind);
/* "copies", "kernels" or "waits" (for semaphores) enqueued so far. Each launch of a graph counts.
 */
unsigned long long softcuda_starts(const char* kind);
/* Modelled microseconds of all calls ("processor") or of all starts ("device"). */
double softcuda_modelled(const char* where);

/* The host's view of device memory; null for other addresses. */
void* softcuda_bytes(const void* address);

/* Of the software libcufile. Requests failures as SOFTCUDA_CUFILE does. */
void softcuda_cufile(const char* rows);
/* The number of calls of a function so far. */
unsigned long long softcuda_cufile_calls(const char* function);
/* The number of registered files. */
long long softcuda_cufile_handles(void);

#if defined(__cplusplus)
}
#endif

#endif /* TERN_TESTS_SOFTCUDA_CONTROL_H */
