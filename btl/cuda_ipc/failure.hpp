// SPDX-License-Identifier: Apache-2.0
// Failure: why a peer's memory could not be mapped, and whether to try again.
#pragma once

#include <string>

#include "cuda/driver.hpp"

namespace tern::btl::cuda_ipc {

struct Failure {
  std::string why;
  bool unreachable = false;  // the device has no path to the memory: another try is useless
  bool wrong_data = false;   // the device reads other bytes than the owner wrote
};
/// The failure of a driver call.
[[nodiscard]] inline Failure failure_of(const char* function, CUresult result) {
  return {cuda::words_of(function, result),
          result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED || result == CUDA_ERROR_INVALID_DEVICE};
}

}  // namespace tern::btl::cuda_ipc
