// SPDX-License-Identifier: Apache-2.0
// Collective: the collective operations that have schedules, and what each rank starts and ends
// with. Blocks: an operation's buffers are cut into blocks that schedules name by number. Movement
// operations have one block per rank; reductions and broadcast have one vector that the algorithm
// splits into as many as it likes.
//
// clang-format off
//   operation       input (blocks)   output (blocks)   afterwards
//   barrier         -                -                 everybody has entered
//   bcast           -                split             the root's output, everywhere
//   gather          1                ranks (root)      output i = input of rank i
//   scatter         ranks (root)     1                 output = own block of the root's input
//   allgather       1                ranks             output i = input of rank i
//   alltoall        ranks            ranks             output i = own block of rank i's input
//   neighbor_allgather  1            sources           output i = input of source i
//   neighbor_alltoall   destinations sources           output i = the block that source i has for it
//   reduce          split            split (root)      input 0 op input 1 op ... in rank order
//   allreduce       split            split             the same, everywhere
//   reduce_scatter  ranks            1                 own block of the reduced vector
//   scan, exscan    split            split             inputs 0 to rank (exscan: rank - 1)
// clang-format on
//
// Between two groups the same operations have a block for each rank of the other group instead, and
// the results are of the other group's inputs.
//
// The irregular forms (gatherv, ...) are the same operations bound to blocks of different sizes.
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

/// Calls of two kinds do not match each other.
struct CallKind {
  Collective collective;
  bool blocking;
  int root;  // 0 without a root
};

/// "allreduce", ...
[[nodiscard]] const char* name_of(Collective collective) noexcept;
[[nodiscard]] constexpr bool rooted(Collective c) noexcept {
  return c == Collective::kBcast || c == Collective::kGather || c == Collective::kScatter ||
         c == Collective::kReduce;
}
[[nodiscard]] constexpr bool reduces(Collective c) noexcept { return c >= Collective::kReduce; }
/// True where each rank has neighbours of its own (coll/schedule/neighbors.hpp).
[[nodiscard]] constexpr bool neighborly(Collective c) noexcept {
  return c == Collective::kNeighborAllgather || c == Collective::kNeighborAlltoall;
}
/// True where input and output are one vector that the algorithm splits.
[[nodiscard]] constexpr bool splits(Collective c) noexcept {
  return c == Collective::kBcast || (reduces(c) && c != Collective::kReduceScatter);
}

/// The output block that is the same memory as input block `block` under MPI_IN_PLACE; -1 for none
/// (alltoall and reduce_scatter get a copy of their input instead).
[[nodiscard]] constexpr int32_t in_place_block(Collective c, int32_t rank, int32_t root,
                                               int32_t block) noexcept {
  switch (c) {
    case Collective::kGather:
      return rank == root ? root : -1;
    case Collective::kScatter:
      return rank == root && block == root ? 0 : -1;
    case Collective::kAllgather:
      return rank;
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

}  // namespace tern::coll
