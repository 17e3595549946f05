// SPDX-License-Identifier: Apache-2.0
// The table of collective algorithms: one row, one file.
// Why: selection, verification, documentation and the tests go over the same rows.
// Adding one: a file here with one function of type Emit, and a row in table.cc; generate.py makes
// the declaration, the line for make and the parameter's word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "coll/schedule/builder.hpp"
#include "coll/schedule/flat_method.hpp"

namespace tern::coll {

/// What an algorithm cannot do; bits.
enum Limit : unsigned {
  kAnything = 0,
  kCommutative = 1,  // needs an operation whose operands may change places
  kEqualBlocks = 2,  // not for the irregular forms
  kPowerOfTwo = 4,   // so many ranks
  kEvenRanks = 8,
  kLevels = 16,        // needs to know which ranks are near each other
  kEqualHosts = 32,    // and that these groups are of one size
  kHostsInOrder = 64,  // and of consecutive ranks
  kShared = 128,       // memory that all ranks see; it has no schedule (coll/flat)
};

/// Properties on which engines rely; bits. Proof: tests/unit/coll/verify_test.cc.
enum Trait : unsigned {
  kNoTrait = 0,
  kOneHop = 1,     // no rank sends data that it has received or reduced
  kTwoHops = 2,    // ranks reduce their parts, and send the results
  kRankOrder = 4,  // each element is reduced by one rank from the last operand to the first: the
                   // bits of slots
  kBySwitch = 8,   // NVLink switches can do the same
};

inline constexpr int32_t kRadix = 4;    // of k-nomial trees
inline constexpr int32_t kWindow = 32;  // steps under way at once where all messages go directly
inline constexpr int32_t kSlots = 4;    // partial results that a rank receives at once

/// What a cost depends on: ranks, bytes of the vector (or of all blocks), and hosts.
struct Shape {
  double p, n, hosts;
};
/// What the busiest rank does, for the whole of n. `parts`: into how many the vector is split.
struct Work {
  double rounds = 0;    // messages one after the other on the longest way
  double bytes = 0;     // that these carry
  double messages = 0;  // sent by the busiest rank
  double load = 0;      // bytes that it sends
  double reduced = 0, copied = 0;
  double parts = 1;
  double lines = 0;  // cache lines of other ranks
};
/// Between hosts, and within them. Algorithms that know no levels do everything between.
struct Cost {
  Work far, near;
};

/// Emits one rank's schedule. Straight-line: rank arithmetic and verbs, nothing else.
using Emit = void (*)(Builder& builder);

struct Algorithm {
  Collective collective;
  const char* name;
  Emit emit;
  unsigned limits;
  size_t chunk;         // bytes of a block that one pass carries; 0: everything in one pass
  const char* formula;  // rounds; bytes per rank for a vector (or all blocks) of n bytes on p ranks
  Cost (*cost)(Shape);  // the same for numbers
  const char* see;      // where it is described
  FlatMethod flat = FlatMethod::kNone;
  unsigned traits = kNoTrait;
};

[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;
/// The rows of all but neighbourhoods.
[[nodiscard]] std::span<const Algorithm> global_algorithms() noexcept;
/// The rows that serve two groups, one for each collective that is defined between them.
[[nodiscard]] std::span<const Algorithm> between_algorithms() noexcept;
/// Null where the collective is not defined between two groups.
[[nodiscard]] const Algorithm* between_groups(Collective collective) noexcept;
/// The rows of one collective.
[[nodiscard]] std::span<const Algorithm> algorithms(Collective collective) noexcept;
/// The row of this name; nullptr if no row has it.
[[nodiscard]] const Algorithm* find_algorithm(Collective collective, const char* name) noexcept;
/// Rows without a schedule: nothing to build, verify or draw.
[[nodiscard]] inline bool has_schedule(const Algorithm& algorithm) noexcept {
  return algorithm.emit != nullptr;
}
/// Whether there is a schedule for so many ranks with these levels (null: not known).
[[nodiscard]] bool serves(const Algorithm& algorithm, int32_t ranks, const Levels* levels) noexcept;
/// The schedule of one rank.
[[nodiscard]] Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root,
                             const Levels* levels = nullptr);
/// The same between two groups; `root` as in Schedule.
[[nodiscard]] Schedule build_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                     int32_t rank, int32_t root);
/// The same of a neighbourhood.
[[nodiscard]] Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank,
                             std::shared_ptr<const Neighbors> neighbors);

}  // namespace tern::coll
