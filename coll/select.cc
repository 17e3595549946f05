// SPDX-License-Identifier: Apache-2.0
// The table of selection. The bounds are for ranks of one machine; see docs/measurements.md.
#include "coll/select.hpp"

#include <climits>
#include <cstdint>

#include "base/error.hpp"

namespace tern::coll {
namespace {

using enum Collective;

struct Rule {
  Collective collective;
  int32_t most_ranks;
  size_t most_bytes;
  const char* algorithm;
};

constexpr size_t kKi = 1024;
constexpr size_t kAny = SIZE_MAX;
constexpr int32_t kMany = INT32_MAX;

// clang-format off
constexpr Rule kRules[] = {
  {kBarrier, kMany, kAny, "dissemination"},
  {kBcast, 2, kAny, "linear"},
  {kBcast, kMany, 512 * kKi, "binomial"},
  {kBcast, kMany, kAny, "scatter_allgather"},
  {kGather, kMany, 1 * kKi, "binomial"},
  {kGather, kMany, kAny, "linear"},
  {kScatter, kMany, 1 * kKi, "binomial"},
  {kScatter, kMany, kAny, "linear"},
  {kAllgather, 2, kAny, "ring"},
  {kAllgather, kMany, 4 * kKi, "bruck"},
  {kAllgather, kMany, kAny, "ring"},
  {kAlltoall, 4, kAny, "linear"},
  {kAlltoall, kMany, 256, "bruck"},
  {kAlltoall, kMany, kAny, "linear"},
  {kReduce, kMany, 64 * kKi, "binomial"},
  {kReduce, kMany, 64 * kKi, "binomial_ordered"},
  {kReduce, kMany, kAny, "scatter_gather"},
  {kAllreduce, kMany, 16 * kKi, "recursive_doubling"},
  {kAllreduce, 8, kAny, "rabenseifner"},
  {kAllreduce, kMany, kAny, "ring"},
  {kAllreduce, kMany, kAny, "rabenseifner"},
  {kReduceScatter, kMany, kAny, "pairwise"},
  {kReduceScatter, kMany, kAny, "ordered"},
  {kScan, kMany, kAny, "recursive_doubling"},
  {kExscan, kMany, kAny, "recursive_doubling"},
};
// clang-format on

}  // namespace

bool can(const Algorithm& algorithm, const Question& question) noexcept {
  if (!serves(algorithm, question.ranks, nullptr)) return false;
  if ((algorithm.limits & kCommutative) != 0 && !question.commutative) return false;
  return (algorithm.limits & kEqualBlocks) == 0 || question.equal_blocks;
}

const Algorithm& select(const Question& question) noexcept {
  for (const Rule& rule : kRules) {
    if (rule.collective != question.collective || question.ranks > rule.most_ranks ||
        question.bytes > rule.most_bytes)
      continue;
    const Algorithm* algorithm = find_algorithm(rule.collective, rule.algorithm);
    TERN_ASSERT(algorithm != nullptr);
    if (can(*algorithm, question)) return *algorithm;
  }
  TERN_ASSERT(false && "the last rule of a collective serves everything");
  __builtin_unreachable();
}

std::string explain(const Question& question, const Algorithm& algorithm) {
  return strf("%s of %zu bytes%s on %d ranks%s: %s (rounds and bytes: %s)",
              name_of(question.collective), question.bytes,
              question.equal_blocks ? "" : " (blocks differ)", question.ranks,
              question.commutative ? "" : ", operands in order", algorithm.name, algorithm.formula);
}

}  // namespace tern::coll
