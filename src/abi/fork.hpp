// SPDX-License-Identifier: Apache-2.0
// TERN_FORK: an entry point with two continuations, the plain function and the recorded twin.
// Why: a test inside the plain function costs registers in all its code. Here it costs three
// instructions (tests/mpi/call_costs.sh), and both functions see the caller's return address.
// See: emit_traced.py, src/trace/recorder.hpp.
#pragma once

#include "trace/recorder.hpp"

#define TERN_INNER __attribute__((visibility("hidden"), noinline, used))

#if defined(__x86_64__)
#define TERN_FORK(ENTRY, PARAMETERS, NAME, ARGUMENTS)                           \
  __attribute__((naked, no_instrument_function, no_profile_instrument_function, \
                 no_stack_protector)) int ENTRY PARAMETERS {                    \
    __asm__(                                                                    \
        "cmpl $0, tern_trace_on(%rip)\n\t"                                      \
        "jne traced_" #NAME                                                     \
        "\n\t"                                                                  \
        "jmp plain_" #NAME);                                                    \
  }
#else
// A return address in an entry point is the caller's only if the compiler jumps to the function.
#define TERN_FORK(ENTRY, PARAMETERS, NAME, ARGUMENTS) \
  int ENTRY PARAMETERS { return trace::is_on() ? traced_##NAME ARGUMENTS : plain_##NAME ARGUMENTS; }
#endif
