// SPDX-License-Identifier: Apache-2.0
// The MPI call that this thread is in, or was in last, and where in the program it was made.
// Why: what a rank waits for, and what it forgot to free, is told by the call. Two stores a call.
#pragma once

namespace tern::core {

struct CallPlace {
  const char* call = nullptr;  // "MPI_Send"
  const void* site = nullptr;  // the return address in the program
};

extern constinit thread_local CallPlace current_call __attribute__((tls_model("initial-exec")));

}  // namespace tern::core
