// SPDX-License-Identifier: Apache-2.0
// Programs: what is placed, as instructions for tern_interpret, in the memory of the device.
// Why: a launch then names a program and data, and nothing of a schedule is looked at by the host.
// Lifetime: of a team. A program is uploaded once, when its schedule is first used; not while a
// stream is captured, for that allocates.
// Threads: the caller holds the team's mutex.
// See: cuda/kernels/arguments.hpp (the form), cuda/kernels/interpret.cuh (runs them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coll/gpu/placed.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::coll {

class GpuTeam;

struct Program {
  std::vector<cuda::Instruction> instructions;
  std::vector<cuda::Operand> operands;
  bool uses[2] = {};  // the input, the output
};
[[nodiscard]] Program compile(const Placed& placed);

class Programs {
 public:
  explicit Programs(GpuTeam& team) noexcept : team_(team) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  struct Uploaded {
    std::byte* at = nullptr;
    size_t bytes = 0;  // of the memory
    int32_t instructions = 0, operands_at = 0;
    bool uses[2] = {};
  };
  /// Null where it is not there yet.
  [[nodiscard]] const Uploaded* find(const Placed& placed) const noexcept;
  /// Null with *why where the device has no memory.
  [[nodiscard]] const Uploaded* upload(const Placed& placed, std::string* why);
  /// The set of regions that a kernel's passes begin with, which are so many in each part.
  [[nodiscard]] int next_set(int64_t passes) noexcept {
    const int set = set_;
    set_ = static_cast<int>((set_ + passes) % ScratchLayout::kSets);
    return set;
  }
  /// The team ends: no kernel of its uses them.
  void give_back() noexcept;

 private:
  GpuTeam& team_;
  std::map<const Placed*, Uploaded> uploaded_;
  int set_ = 0;
};

}  // namespace tern::coll
