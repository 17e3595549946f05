// SPDX-License-Identifier: Apache-2.0
// Schedule: one rank's part of a collective as data: steps on symbolic slices, in lanes, with
// dependencies. A schedule depends only on collective, algorithm, ranks, rank, root and levels or
// neighbours.
//
// Steps. A lane starts its steps in order. Step i also waits for the first `after` steps of its
// lane and the first `wait_steps` of lane `wait_lane`. A send is complete when its source may be
// overwritten. Messages between two ranks match in order within a lane. Chunks. Pass t runs all
// steps on the t-th part of every block, with separate scratch; passes may overlap. The size sets
// the number of passes, never the steps. Blocks. `parts` cuts the vector, or each block of a
// collective that does not split: below, a block is such a part, and part j of MPI's block i has
// number i * parts + j. Slices. A mirror is scratch laid out like the vector
// (`place`: `first` plus the blocks of preceding mirrors). The stage is a row of scratch slots of a
// block each (`place`: the slot; `first`: the block whose size applies). `owner` is the rank with
// the far slice of a put or get.
//
// Lowered (coll/lower): messages become puts into the receiver's inbox, laid out alike on all
// ranks. An inbox slice is a whole message: `place` is the slot, blocks are contiguous, `first`
// names the blocks as in the owner's stage. A reduce may write into a peer's inbox. Signals and
// waits use semaphore `slot` in the waiting rank's memory: a signal sets 1, a wait consumes the 1.
// A lowered schedule has a single lane of sequential steps.
//
// Lifetime: immutable, shared.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/schedule/collective.hpp"
#include "coll/schedule/neighbors.hpp"

namespace tern::coll {

enum class Space : uint8_t { kInput, kOutput, kMirror, kStage, kInbox };
inline constexpr int kSpaces = 5;

inline constexpr int32_t kSelf = -1;

struct Slice {
  Space space;
  int32_t first;
  int32_t blocks;
  int32_t place;  // stage: first slot; inbox: slot; mirror: see above; else first
  int32_t owner = kSelf;
  bool operator==(const Slice&) const = default;
};

enum class Verb : uint8_t {
  kSend,
  kRecv,
  kCopy,
  kReduce,  // source 0 op source 1 op ... to the destination: the last source or no source;
            // lowered, also far
  kPut,     // source to the peer's memory; complete once written
  kGet,     // source in the peer's memory to a destination
  kSignal,  // sets the peer's semaphore `slot` after earlier steps of the lane
  kWait,    // consumes this rank's `slot`
  kJoin,
};
[[nodiscard]] const char* name_of(Verb verb) noexcept;

struct Step {
  Verb verb = Verb::kJoin;
  uint8_t sources = 0;
  uint8_t destinations = 0;
  uint8_t wait_lane = 0;
  int32_t peer = kSelf;
  int32_t slot = 0;
  uint32_t operand = 0;  // first slice: sources, then destinations
  int32_t after = 0;
  int32_t wait_steps = 0;
};

struct Schedule {
  Collective collective;
  const char* algorithm;
  int32_t ranks, rank, root;
  /// `others` is the size of the remote group. Peers and root are numbered from `ranks` on (root
  /// -1: another local rank).
  int32_t others = 0;
  static constexpr int32_t kAtOnce = 3;
  int32_t parts;              // of the vector, or of each block
  int32_t at_once = kAtOnce;  // passes that fill the network, where the scratch allows
  int32_t stage_slots = 0;
  int32_t mirrors = 0;   // copies of the vector, or of all blocks
  bool uniform = false;  // multi-block slices outside vectors need equal blocks
  bool remote = false;
  /// Lowered: `inbox_slots` of a pass each have a data semaphore (initially 0). `words` counts all
  /// semaphores, with a credit (initially 1) per peer of this rank's puts, ascending, after the
  /// data.
  int32_t inbox_slots = 0, words = 0;
  std::shared_ptr<const Neighbors> neighbors{};
  std::vector<uint32_t> lane_begin;  // lanes + 1 offsets into steps
  std::vector<Step> steps;
  std::vector<Slice> slices;

  std::array<int32_t, 2> whole{};  // blocks of MPI in the input and output, uncut

  [[nodiscard]] bool is_credit(int32_t number) const noexcept { return number >= inbox_slots; }
  [[nodiscard]] int lanes() const noexcept { return static_cast<int>(lane_begin.size()) - 1; }
  [[nodiscard]] int32_t lane_size(int lane) const noexcept {
    const auto l = static_cast<size_t>(lane);
    return static_cast<int32_t>(lane_begin[l + 1] - lane_begin[l]);
  }
  [[nodiscard]] const Step& step(int lane, int32_t index) const noexcept {
    return steps[lane_begin[static_cast<size_t>(lane)] + static_cast<uint32_t>(index)];
  }
  [[nodiscard]] const Slice& source(const Step& step, int i = 0) const noexcept {
    return slices[step.operand + static_cast<uint32_t>(i)];
  }
  [[nodiscard]] const Slice& destination(const Step& step, int i = 0) const noexcept {
    return slices[step.operand + step.sources + static_cast<uint32_t>(i)];
  }
  [[nodiscard]] int32_t blocks_of(Space space) const noexcept;
  /// Blocks of MPI in the input or output, uncut.
  [[nodiscard]] int32_t whole_blocks(Space space) const noexcept {
    return whole[space == Space::kOutput];
  }
  /// Blocks of a mirror.
  [[nodiscard]] int32_t mirror_blocks() const noexcept {
    return splits(collective) ? parts : ranks * parts;
  }
  /// in_place_block() is the output block aliased to an input block under MPI_IN_PLACE, or -1
  /// (alltoall and reduce_scatter copy their input).
  [[nodiscard]] int32_t in_place_block(int32_t block) const noexcept;
  /// True if all parts of the slice belong to one block of MPI, or to the vector: adjacent in each
  /// pass.
  [[nodiscard]] bool within_block(const Slice& slice) const noexcept {
    return splits(collective) || slice.first / parts == (slice.first + slice.blocks - 1) / parts;
  }
  [[nodiscard]] std::string describe(int lane, int32_t index) const;
};

}  // namespace tern::coll
