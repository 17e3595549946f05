// SPDX-License-Identifier: Apache-2.0
// Schedule: what one rank does in a collective, as data: steps on symbolic slices, in lanes, with
// dependencies. Why: blocking, nonblocking and persistent forms, and the host's and the GPU's
// engines, run the same thing; it can be proved, drawn and simulated. It depends on (collective,
// algorithm, ranks, rank, root; levels or neighbours) and on no count, type, operation or address.
//
// Steps. The steps of a lane start in order. Step i also waits until the first `after` steps of its
// lane are complete, and the first `wait_steps` of lane `wait_lane`. A send is complete when its
// source may be written again. Messages of one lane between two ranks match in order; lane l talks
// to lane l. Chunks. The steps are the body of a loop: pass t works on the t-th part of every
// block, with its own copy of the scratch; passes share nothing and may overlap. Size changes the
// number of passes, never the steps. Slices. Blocks of input or output; of a mirror, a scratch cut
// like the vector (`place` is `first` plus as many blocks as mirrors lie before it); or of the
// stage, a row of scratch slots that each hold one block of any number (`place` is the slot,
// `first` names the block whose size it has). `owner` is the rank in whose memory a put's or get's
// far slice lies.
//
// Lowered (coll/lower): messages between ranks that map each other's memory are puts into the
// receiver's inbox, memory of one layout on all ranks that peers write. An inbox slice is one whole
// message: `place` is its slot, the blocks lie in it without gaps, and `first` names them as the
// owner's stage would. A reduce whose destination is far puts its result there, into the peer's
// inbox. Signals and waits are of words in the memory of the rank that waits: `slot` is the word's
// number there. A word is 0 or 1: a signal makes it 1, a wait waits for 1 and makes it 0. A
// lowered schedule has one lane; each of its steps starts when the one before is complete.
//
// Lifetime: immutable, shared by every execution. See: coll/schedule/builder.hpp (makes them),
// coll/laboratory/verify/verify.hpp (proves them).
#pragma once

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
  int32_t first;   // block number
  int32_t blocks;  // how many adjacent ones
  int32_t place;   // stage: slot of the first; inbox: slot; mirror: see above; else first
  int32_t owner = kSelf;
  bool operator==(const Slice&) const = default;
};

enum class Verb : uint8_t {
  kSend,    // source to the peer
  kRecv,    // destination from the peer
  kCopy,    // source to every destination
  kReduce,  // source 0 op source 1 op ... to the destination, which is the last source or none of
            // them; lowered, it may be far
  kPut,     // source to a destination in the peer's memory; complete when it lies there
  kGet,     // source in the peer's memory to a destination
  kSignal,  // tells the peer's slot, after every earlier step of this lane
  kWait,  // waits for the peer's signal to this rank's slot; later steps of the lane come after it
  kJoin,  // nothing but its dependencies
};
[[nodiscard]] const char* name_of(Verb verb) noexcept;

struct Step {
  Verb verb = Verb::kJoin;
  uint8_t sources = 0;
  uint8_t destinations = 0;
  uint8_t wait_lane = 0;
  int32_t peer = kSelf;
  int32_t slot = 0;
  uint32_t operand = 0;  // first of its slices: sources, then destinations
  int32_t after = 0;
  int32_t wait_steps = 0;
};

struct Schedule {
  Collective collective;
  const char* algorithm;
  int32_t ranks, rank, root;
  /// Between two groups: ranks of the other one, whose numbers as peers and root begin at `ranks`
  /// (root -1: on this side, but another rank).
  int32_t others = 0;
  int32_t parts;  // blocks that the vector is split into (collectives that split)
  int32_t stage_slots = 0;
  int32_t mirrors = 0;  // copies of the vector (or of the blocks)
  bool uniform =
      false;  // has slices of several blocks outside vectors: all blocks must be of one size
  bool remote = false;  // has puts or gets: for engines that map the peers' memory
  /// Lowered: inbox slots of one pass, each with the data word of its number; and words in all:
  /// behind those of data comes one for each peer that this rank puts to, ascending (credits).
  /// Data words are 0 at first, credit words 1.
  int32_t inbox_slots = 0, words = 0;
  std::shared_ptr<const Neighbors> neighbors{};  // of neighbourhoods alone
  std::vector<uint32_t> lane_begin;              // lanes + 1 offsets into steps
  std::vector<Step> steps;                       // lane by lane
  std::vector<Slice> slices;

  /// Whether semaphore `number` is 1 before the first execution: a credit, which the peer returns.
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
  /// Blocks of a space on this rank (input and output: the most that any rank has).
  [[nodiscard]] int32_t blocks_of(Space space) const noexcept;
  /// "allreduce ring, rank 3 of 8, lane 0, step 4: recv from 2" for messages.
  [[nodiscard]] std::string describe(int lane, int32_t index) const;
};

}  // namespace tern::coll
