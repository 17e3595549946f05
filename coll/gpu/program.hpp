// SPDX-License-Identifier: Apache-2.0
// Programs: placed schedules as instructions for tern_interpret, in device memory. Why: a launch
// does not walk the schedule. How: each program has pinned and device memory, allocated with the
// team. The first stream with a launch copies the program to the device, so no call waits for the
// device or a rank. Lifetime: the team's. Threads: the caller holds the team's mutex.
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
  bool uses[2] = {};
};
[[nodiscard]] Program compile(const Placed& placed);

class Programs {
 public:
  explicit Programs(const TeamMemory& memory) noexcept : memory_(memory) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  struct Stored {
    std::byte* at = nullptr;
    std::byte* pinned = nullptr;
    size_t bytes = 0;
    int32_t instructions = 0, operands_at = 0;
    bool uses[2] = {};
    bool arrives = false;  // the copy precedes all later calls
  };
  /// prepare() may wait for the device.
  [[nodiscard]] std::string prepare();
  [[nodiscard]] Stored* store(const Placed& placed, std::string* why);
  /// A captured bring() copies the program at each replay.
  static void bring(Stored& program, cuda::Job& job, bool captured) noexcept;
  [[nodiscard]] int next_set(int64_t passes) noexcept {
    const int set = set_;
    set_ = static_cast<int>((set_ + passes) % ScratchLayout::kSets);
    return set;
  }
  /// No kernel may use the programs at give_back().
  void give_back() noexcept;

 private:
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
