// SPDX-License-Identifier: Apache-2.0
// Collective: the operations with schedules, and each rank's input and output. Schedules name
// blocks by number. Movement operations have a block per rank; reductions and broadcast have a
// vector split by the algorithm.
//
// clang-format off
//   operation       input (blocks)   output (blocks)   afterwards
//   barrier         -                -                 all ranks have entered
//   bcast           -                split             the root's output, on all ranks
//   gather          1                ranks (root)      output i = input of rank i
//   scatter         ranks (root)     1                 output = own block of the root's input
//   allgather       1                ranks             output i = input of rank i
//   alltoall        ranks            ranks             output i = own block of rank i's input
//   neighbor_allgather  1            sources           output i = input of source i
//   neighbor_alltoall   destinations sources           output i = source i's block for this rank
//   reduce          split            split (root)      input 0 op input 1 op ... in rank order
//   allreduce       split            split             the same, on all ranks
//   reduce_scatter  ranks            1                 own block of the reduced vector
//   scan, exscan    split            split             inputs 0 to rank (exscan: rank - 1)
// clang-format on
//
// Inter-communicators: blocks are per rank of the remote group, and results come from the remote
// group's inputs.
//
// Irregular forms (gatherv, ...) are the same operations with blocks of different sizes.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Collective : uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kNeighborAllgather,
  kNeighborAlltoall,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
  kExscan,
};
inline constexpr int kCollectives = 13;

struct CallKind {
  Collective collective;
  bool blocking;
  int root;  // 0 without a root
};

[[nodiscard]] const char* name_of(Collective collective) noexcept;
[[nodiscard]] constexpr bool rooted(Collective c) noexcept {
  return c == Collective::kBcast || c == Collective::kGather || c == Collective::kScatter ||
         c == Collective::kReduce;
}
[[nodiscard]] constexpr bool reduces(Collective c) noexcept { return c >= Collective::kReduce; }
/// Ranks of a neighborly() collective have different neighbours.
[[nodiscard]] constexpr bool neighborly(Collective c) noexcept {
  return c == Collective::kNeighborAllgather || c == Collective::kNeighborAlltoall;
}
/// Input and output of a splits() collective are a vector, split by the algorithm.
[[nodiscard]] constexpr bool splits(Collective c) noexcept {
  return c == Collective::kBcast || (reduces(c) && c != Collective::kReduceScatter);
}

}  // namespace tern::coll
