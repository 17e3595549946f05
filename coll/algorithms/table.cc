// SPDX-License-Identifier: Apache-2.0
// The table of collective algorithms.
#include <cstring>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

using enum Collective;
constexpr size_t kKi = 1024;

// clang-format off
constexpr Algorithm kTable[] = {
  {kBarrier, "dissemination", barrier_dissemination, kAnything, 0, "log p; 0", "Hensgen et al. 1988"},
  {kBcast, "binomial", bcast_binomial, kAnything, 128 * kKi, "log p; n", "Johnsson, Ho 1989"},
  {kBcast, "chain", bcast_chain, kAnything, 128 * kKi, "p - 1 + chunks; n", "Watts, van de Geijn 1995"},
  {kBcast, "linear", bcast_linear, kAnything, 0, "p; n p", ""},
  {kBcast, "scatter_allgather", bcast_scatter_allgather, kAnything, 0, "log p + p; 2n", "Barnett et al. 1994"},
  {kGather, "binomial", gather_binomial, kEqualBlocks, 0, "log p; n/2", "Chan et al. 2007"},
  {kGather, "linear", gather_linear, kAnything, 0, "p; n/p", ""},
  {kScatter, "binomial", scatter_binomial, kEqualBlocks, 0, "log p; n/2", "Chan et al. 2007"},
  {kScatter, "linear", scatter_linear, kAnything, 0, "p; n/p", ""},
  {kAllgather, "bruck", allgather_bruck, kEqualBlocks, 0, "log p; n", "Bruck et al. 1997"},
  {kAllgather, "ring", allgather_ring, kAnything, 0, "p; n", "Chan et al. 2007"},
  {kAlltoall, "bruck", alltoall_bruck, kEqualBlocks, 0, "log p; n/2 log p", "Bruck et al. 1997"},
  {kAlltoall, "pairwise", alltoall_pairwise, kAnything, 0, "p; n", ""},
  {kReduce, "binomial", reduce_binomial, kCommutative, 256 * kKi, "log p; n", "Thakur et al. 2005"},
  {kReduce, "binomial_ordered", reduce_binomial_ordered, kAnything, 256 * kKi, "log p + 1; n", "Thakur et al. 2005"},
  {kReduce, "scatter_gather", reduce_scatter_gather, kAnything, 256 * kKi, "log p + 1; 2n", "Rabenseifner 2004"},
  {kAllreduce, "recursive_doubling", allreduce_recursive_doubling, kAnything, 256 * kKi, "log p; n log p", "Thakur et al. 2005"},
  {kAllreduce, "rabenseifner", allreduce_rabenseifner, kAnything, 256 * kKi, "2 log p; 2n", "Rabenseifner 2004"},
  {kAllreduce, "ring", allreduce_ring, kCommutative, 128 * kKi, "2p; 2n", "Patarasuk, Yuan 2009"},
  {kReduceScatter, "pairwise", reduce_scatter_pairwise, kCommutative, 0, "p; n", "Thakur et al. 2005"},
  {kReduceScatter, "ordered", reduce_scatter_ordered, kAnything, 0, "p; n", ""},
  {kScan, "recursive_doubling", scan_recursive_doubling, kAnything, 256 * kKi, "log p; n log p", "Hillis, Steele 1986"},
  {kExscan, "recursive_doubling", exscan_recursive_doubling, kAnything, 256 * kKi, "log p; n log p", "Hillis, Steele 1986"},
};
// clang-format on

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return kTable; }

const Algorithm* find_algorithm(Collective collective, const char* name) noexcept {
  for (const Algorithm& row : kTable)
    if (row.collective == collective && std::strcmp(row.name, name) == 0) return &row;
  return nullptr;
}

Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root) {
  Builder builder(algorithm.collective, algorithm.name, ranks, rank, root);
  algorithm.emit(builder);
  Schedule schedule = builder.finish();
  if ((algorithm.limits & kEqualBlocks) != 0) schedule.uniform = true;
  return schedule;
}

}  // namespace tern::coll
