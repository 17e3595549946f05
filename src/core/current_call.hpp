// SPDX-License-Identifier: Apache-2.0
// The MPI call that this thread is in, or was in last: "MPI_Send".
// Why: what a rank waits for, and what it forgot to free, is told by the name of the call. One
// store a call.
#pragma once

namespace tern::core {

extern constinit thread_local const char* current_call __attribute__((tls_model("initial-exec")));

}  // namespace tern::core
