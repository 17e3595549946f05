// SPDX-License-Identifier: Apache-2.0
// Engine: how a collective between GPUs is put into a stream. See: coll/gpu/way.hpp.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Engine : uint8_t {
  kNone,
  kStream,     // copies, and operations on words
  kKernel,     // a kernel that runs a schedule
  kPush,       // a kernel that writes to other ranks at once
  kMulticast,  // a kernel that leaves the reduction to a switch
  kExchange,   // a kernel for blocks whose sizes two ranks know
};
inline constexpr const char* kEngineNames[] = {"none", "stream",    "kernel",
                                               "push", "multicast", "exchange"};

[[nodiscard]] constexpr const char* name_of(Engine engine) noexcept {
  return kEngineNames[static_cast<int>(engine)];
}

}  // namespace tern::coll
