// SPDX-License-Identifier: Apache-2.0
// Failure: why mapping a peer's memory failed, and whether to retry.
#pragma once

#include <string>

#include "cuda/driver.hpp"

namespace tern::btl::cuda_ipc {

struct Failure {
  std::string why;
  bool unreachable = false;  // never retry
  bool wrong_data = false;
};
[[nodiscard]] inline Failure failure_of(const char* function, CUresult result) {
  return {cuda::words_of(function, result),
          result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED || result == CUDA_ERROR_INVALID_DEVICE};
}

}  // namespace tern::btl::cuda_ipc
