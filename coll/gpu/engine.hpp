// SPDX-License-Identifier: Apache-2.0
// Engine: an implementation of collectives between GPUs.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Engine : uint8_t {
  kNone,
  kStream,     // copies and memory operations on semaphores
  kKernel,     // a kernel interprets a schedule
  kPush,       // a kernel pushes packets
  kMulticast,  // a kernel reduces in the NVLink switch
  kExchange,   // a kernel moves blocks of pairwise known sizes
};
inline constexpr const char* kEngineNames[] = {"none", "stream",    "kernel",
                                               "push", "multicast", "exchange"};

[[nodiscard]] constexpr const char* name_of(Engine engine) noexcept {
  return kEngineNames[static_cast<int>(engine)];
}

}  // namespace tern::coll
