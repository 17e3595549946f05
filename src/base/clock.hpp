// SPDX-License-Identifier: Apache-2.0
// The clock for waits: nanoseconds, equal in all processes of a host.
#pragma once

#include <time.h>

#include <cstdint>

namespace tern {

[[nodiscard]] inline int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

}  // namespace tern
