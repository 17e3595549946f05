// SPDX-License-Identifier: Apache-2.0
// Flat: which operations fit, and the ways of each.
#include "coll/flat/flat.hpp"

#include "base/error.hpp"
#include "coll/flat/direct.hpp"

namespace tern::coll {

bool flat_takes(const Operation& operation) noexcept {
  if (operation.op == nullptr) return !operation.irregular;
  const core::Datatype& type = *operation.input.type;
  constexpr MPI_Count kLargestElement = 512;
  return type.contiguous() && type.extent() == type.size() && type.true_lb() == 0 &&
         type.size() > 0 && type.size() <= kLargestElement;
}

size_t flat_bytes(const Question& question) noexcept {
  switch (question.collective) {
    case Collective::kScatter:
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
      return question.bytes * static_cast<size_t>(question.ranks);
    default:
      return question.bytes;
  }
}

namespace {

void run_direct(Direct& parts, Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
      return parts.allgather();
    case Collective::kAlltoall:
      return parts.alltoall();
    case Collective::kReduce:
      return parts.reduce(false);
    case Collective::kAllreduce:
      return parts.reduce(true);
    case Collective::kReduceScatter:
      return parts.reduce_scatter();
    default:
      TERN_ASSERT(false && "the table has no such row");
  }
}

}  // namespace

int flat_run(const Operation& operation, FlatMethod way, Slots& slots) {
  if (way == FlatMethod::kDirect) {
    Direct parts(operation, slots);
    run_direct(parts, operation.collective);
    return parts.code();
  }
  Parts parts(operation, slots);
  if (TERN_LIKELY(way == FlatMethod::kWhole))
    parts.run();
  else
    parts.reduce_sliced(operation.collective == Collective::kAllreduce);
  return parts.code();
}

}  // namespace tern::coll
