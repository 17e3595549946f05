// SPDX-License-Identifier: Apache-2.0
// CurrentCall: the latest MPI call of this thread, for reports. Cost: two stores per call.
#pragma once

namespace tern::core {

struct CallPlace {
  const char* call = nullptr;
  const void* site = nullptr;
};

extern constinit thread_local CallPlace current_call __attribute__((tls_model("initial-exec")));

}  // namespace tern::core
