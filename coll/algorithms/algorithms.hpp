// SPDX-License-Identifier: Apache-2.0
// The table of collective algorithms: one row, one file.
// Why: selection, verification, documentation and the tests go over the same rows.
// Adding one: a file here with one function of type Emit, and a row in table.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/builder.hpp"

namespace tern::coll {

/// What an algorithm cannot do; bits.
enum Limit : unsigned {
  kAnything = 0,
  kCommutative = 1,  // needs an operation whose operands may change places
  kEqualBlocks = 2,  // not for the irregular forms
};

/// Emits one rank's schedule. Straight-line: rank arithmetic and verbs, nothing else.
using Emit = void (*)(Builder& builder);

struct Algorithm {
  Collective collective;
  const char* name;
  Emit emit;
  unsigned limits;
  size_t chunk;      // bytes of a block that one pass carries; 0: everything in one pass
  const char* cost;  // rounds; bytes per rank for a vector (or all blocks) of n bytes on p ranks
  const char* see;   // where it is described
};

[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;
/// The row of this name; nullptr where there is none.
[[nodiscard]] const Algorithm* find_algorithm(Collective collective, const char* name) noexcept;
/// The schedule of one rank.
[[nodiscard]] Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root);

void barrier_dissemination(Builder& b);
void bcast_binomial(Builder& b);
void bcast_chain(Builder& b);
void bcast_linear(Builder& b);
void bcast_scatter_allgather(Builder& b);
void gather_binomial(Builder& b);
void gather_linear(Builder& b);
void scatter_binomial(Builder& b);
void scatter_linear(Builder& b);
void allgather_bruck(Builder& b);
void allgather_ring(Builder& b);
void alltoall_bruck(Builder& b);
void alltoall_pairwise(Builder& b);
void reduce_binomial(Builder& b);
void reduce_binomial_ordered(Builder& b);
void reduce_scatter_gather(Builder& b);
void allreduce_recursive_doubling(Builder& b);
void allreduce_ring(Builder& b);
void allreduce_rabenseifner(Builder& b);
void reduce_scatter_pairwise(Builder& b);
void reduce_scatter_ordered(Builder& b);
void scan_recursive_doubling(Builder& b);
void exscan_recursive_doubling(Builder& b);

}  // namespace tern::coll
