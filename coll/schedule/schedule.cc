// SPDX-License-Identifier: Apache-2.0
// Names and shapes of schedules.
#include "coll/schedule/schedule.hpp"

#include "base/error.hpp"

namespace tern::coll {

const char* name_of(Collective collective) noexcept {
  static constexpr const char* kNames[kCollectives] = {"barrier",
                                                       "bcast",
                                                       "gather",
                                                       "scatter",
                                                       "allgather",
                                                       "alltoall",
                                                       "neighbor_allgather",
                                                       "neighbor_alltoall",
                                                       "reduce",
                                                       "allreduce",
                                                       "reduce_scatter",
                                                       "scan",
                                                       "exscan"};
  return kNames[static_cast<int>(collective)];
}

const char* name_of(Verb verb) noexcept {
  static constexpr const char* kNames[] = {"send", "recv",   "copy", "reduce", "put",
                                           "get",  "signal", "wait", "join"};
  return kNames[static_cast<int>(verb)];
}

int32_t Schedule::blocks_of(Space space) const noexcept {
  if (space == Space::kStage) return stage_slots;
  if (space == Space::kInbox) return inbox_slots;
  if (neighborly(collective) && space != Space::kMirror) {
    if (space == Space::kOutput) return static_cast<int32_t>(neighbors->sources.size());
    return collective == Collective::kNeighborAllgather
               ? 1
               : static_cast<int32_t>(neighbors->destinations.size());
  }
  if (space == Space::kMirror) return mirrors * mirror_blocks();
  const bool has_input = collective != Collective::kBarrier && collective != Collective::kBcast;
  if (space == Space::kInput && !has_input) return 0;
  if (splits(collective)) return parts;
  if (collective == Collective::kBarrier) return 0;
  const bool one_in = collective == Collective::kGather || collective == Collective::kAllgather;
  const bool one_out =
      collective == Collective::kScatter || collective == Collective::kReduceScatter;
  const bool full = collective == Collective::kReduceScatter || others == 0;
  return parts * ((space == Space::kInput ? one_in : one_out) ? 1 : full ? ranks : others);
}

int32_t Schedule::in_place_block(int32_t block) const noexcept {
  switch (collective) {
    case Collective::kGather:
      return rank == root ? root * parts + block : -1;
    case Collective::kScatter:
      return rank == root && block / parts == root ? block % parts : -1;
    case Collective::kAllgather:
      return rank * parts + block;
    case Collective::kReduce:
      return rank == root ? block : -1;
    case Collective::kAllreduce:
    case Collective::kScan:
    case Collective::kExscan:
      return block;
    default:
      return -1;
  }
}

std::string Schedule::describe(int lane, int32_t index) const {
  const Step& what = step(lane, index);
  return strf("%s %s, rank %d of %d, lane %d, step %d: %s%s", name_of(collective), algorithm, rank,
              ranks, lane, index, name_of(what.verb),
              what.peer == kSelf ? "" : strf(" (peer %d)", what.peer).c_str());
}

}  // namespace tern::coll
