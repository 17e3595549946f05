// SPDX-License-Identifier: Apache-2.0
// Programs: what is placed, as instructions for tern_interpret, in the memory of the device.
// Why: a launch then names a program and data, and nothing of a schedule is looked at by the host.
// How: each program has a piece of pinned and of device memory, allocated with the team. The first
// stream with a launch copies pinned to device, so no call waits for the device or for a rank. Only
// programs beyond that room allocate.
// Lifetime: of a team. Threads: the caller holds the team's mutex.
// See: cuda/kernels/arguments.hpp (the form), cuda/kernels/interpret.cuh (runs them).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coll/gpu/placed.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::cuda {
class Job;
}

namespace tern::coll {

class TeamMemory;

struct Program {
  std::vector<cuda::Instruction> instructions;
  std::vector<cuda::Operand> operands;
  bool uses[2] = {};  // the input, the output
};
[[nodiscard]] Program compile(const Placed& placed);

class Programs {
 public:
  explicit Programs(const TeamMemory& memory) noexcept : memory_(memory) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  struct Stored {
    std::byte* at = nullptr;  // on the device
    std::byte* pinned = nullptr;
    size_t bytes = 0;
    int32_t instructions = 0, operands_at = 0;
    bool uses[2] = {};
    bool arrives = false;  // its copy precedes all later calls
  };
  /// Allocates room; may wait for the device. Returns a sentence on failure.
  [[nodiscard]] std::string prepare();
  /// Null with *why without memory.
  [[nodiscard]] Stored* store(const Placed& placed, std::string* why);
  /// Copies a program to the device unless an earlier call has. A captured copy runs at each
  /// replay.
  static void bring(Stored& program, cuda::Job& job, bool captured) noexcept;
  /// The set of regions that a kernel's passes begin with, which are so many in each part.
  [[nodiscard]] int next_set(int64_t passes) noexcept {
    const int set = set_;
    set_ = static_cast<int>((set_ + passes) % ScratchLayout::kSets);
    return set;
  }
  /// The team ends: no kernel of its uses them.
  void give_back() noexcept;

 private:
  /// Device and pinned memory.
  struct Room {
    std::byte* device = nullptr;
    std::byte* pinned = nullptr;
    size_t device_bytes = 0, pinned_bytes = 0, used = 0;
    [[nodiscard]] size_t left() const noexcept {
      return std::min(device_bytes, pinned_bytes) - used;
    }
  };
  [[nodiscard]] std::string add_room(size_t bytes);

  const TeamMemory& memory_;
  std::map<const Placed*, Stored> stored_;
  std::vector<Room> rooms_;
  int set_ = 0;
};

}  // namespace tern::coll
