// SPDX-License-Identifier: Apache-2.0
// The latest MPI call of this thread, and its place in the program, for reports. Cost: two stores
// per call.
#pragma once

namespace tern::core {

struct CallPlace {
  const char* call = nullptr;  // "MPI_Send"
  const void* site = nullptr;  // the return address in the program
};

extern constinit thread_local CallPlace current_call __attribute__((tls_model("initial-exec")));

}  // namespace tern::core
