/* SPDX-License-Identifier: Apache-2.0
   What tests may ask of the software driver beyond the driver's own functions; look them up with
   dlsym, for the real driver has none of them. */
#ifndef TERN_TESTS_SOFTCUDA_CONTROL_H
#define TERN_TESTS_SOFTCUDA_CONTROL_H

#if defined(__cplusplus)
extern "C" {
#endif

/* That this is the software driver. */
extern const int softcuda_marker;

/* Asks for failures as SOFTCUDA_FAULT does, counted from now on; an empty text ends them all. */
void softcuda_fault(const char* rows);
/* How many calls of a function there have been: to learn what a protocol calls, and how often. */
unsigned long long softcuda_calls(const char* function);
/* The name of the n-th function that has been called so far, or a null pointer after the last. */
const char* softcuda_function(unsigned n);
/* How many there are now: "allocations", "bytes" (of device memory), "streams", "events",
   "imports", "mappings", "handles", "pools", "graphs", "libraries", "host". */
long long softcuda_live(const char* kind);
/* The ledger (ledger.cc). Calls of a kind so far: "copy", "launch", "operation" (on a word, in a
   stream), "event", "sync", "import", "memory", "make", "ask". */
unsigned long long softcuda_calls_of_kind(const char* kind);
/* "copies", "kernels" or "waits" (for words) put into streams so far, those of graphs at each
   launch. */
unsigned long long softcuda_starts(const char* kind);
/* Microseconds of a model, not measured: of all calls ("processor"), of all starts ("device"). */
double softcuda_modelled(const char* where);

#if defined(__cplusplus)
}
#endif

#endif /* TERN_TESTS_SOFTCUDA_CONTROL_H */
