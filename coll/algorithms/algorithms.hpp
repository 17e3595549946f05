// SPDX-License-Identifier: Apache-2.0
// The table of collective algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "coll/schedule/builder.hpp"
#include "coll/schedule/flat_method.hpp"

namespace tern::coll {

enum Limit : unsigned {
  kAnything = 0,
  kCommutative = 1,  // needs a commutative operation
  kEqualBlocks = 2,  // excludes irregular forms
  kPowerOfTwo = 4,
  kEvenRanks = 8,
  kLevels = 16,
  kEqualHosts = 32,    // groups of equal size
  kHostsInOrder = 64,  // groups of consecutive ranks
  kShared = 128,       // shared memory without a schedule (coll/flat)
  kPlan = 256,         // needs a plan of the row (coll/schedule/plan.hpp)
  kEqualGroups = 512,  // groups of equal size on each level
};

/// tests/unit/coll/verify_test.cc proves traits for the engines.
enum Trait : unsigned {
  kNoTrait = 0,
  kOneHop = 1,
  kTwoHops = 2,
  kRankOrder = 4,  // a rank reduces each element, from the last operand to the first
  kBySwitch = 8,
  kRotates = 16,  // symmetries: symmetry.hpp
  kXors = 32,
  kSlices = 64,
  kRotatesPowers = 128,
  kSymmetries = kRotates | kXors | kSlices | kRotatesPowers,
};

inline constexpr int32_t kRadix = 4;    // radix of k-nomial trees
inline constexpr int32_t kWindow = 32;  // steps in flight when messages go directly
inline constexpr int32_t kSlots = 4;

struct Shape {
  double p, n, hosts;
  const Plan* plan = nullptr;  // for rows with kPlan
};
struct Work {
  double rounds = 0;
  double bytes = 0;
  double messages = 0;
  double load = 0;
  double reduced = 0, copied = 0;
  double parts = 1;
  double lines = 0;
};
struct Cost {
  Work far, near;
};

using Emit = void (*)(Builder& builder);

struct Algorithm {
  Collective collective;
  const char* name;
  Emit emit;
  unsigned limits;
  size_t chunk;         // block bytes per pass; 0: one pass
  const char* formula;  // rounds; bytes per rank, for n bytes on p ranks
  Cost (*cost)(Shape);
  const char* see;
  FlatMethod flat = FlatMethod::kNone;
  unsigned traits = kNoTrait;
};

[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;
[[nodiscard]] std::span<const Algorithm> global_algorithms() noexcept;
[[nodiscard]] std::span<const Algorithm> between_algorithms() noexcept;
[[nodiscard]] const Algorithm* between_groups(Collective collective) noexcept;
[[nodiscard]] std::span<const Algorithm> algorithms(Collective collective) noexcept;
[[nodiscard]] const Algorithm* find_algorithm(Collective collective, const char* name) noexcept;
[[nodiscard]] inline bool has_schedule(const Algorithm& algorithm) noexcept {
  return algorithm.emit != nullptr;
}
[[nodiscard]] inline bool needs_plan(const Algorithm& algorithm) noexcept {
  return (algorithm.limits & kPlan) != 0;
}
[[nodiscard]] bool serves(const Algorithm& algorithm, int32_t ranks, const Levels* levels,
                          const Plan* plan = nullptr) noexcept;
/// `plan` must serve a row with kPlan; other rows ignore it.
[[nodiscard]] Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root,
                             const Levels* levels = nullptr, const Plan* plan = nullptr);
[[nodiscard]] Schedule build_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                     int32_t rank, int32_t root);
[[nodiscard]] Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank,
                             std::shared_ptr<const Neighbors> neighbors);

}  // namespace tern::coll
