// SPDX-License-Identifier: Apache-2.0
// Flat: which operations fit, and the ways of each.
#include "coll/flat/flat.hpp"

#include "base/error.hpp"
#include "coll/flat/parts.hpp"

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

void run_direct(Parts& parts, Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
      return parts.allgather_direct();
    case Collective::kAlltoall:
      return parts.alltoall_direct();
    case Collective::kReduce:
      return parts.reduce_direct(false);
    case Collective::kAllreduce:
      return parts.reduce_direct(true);
    case Collective::kReduceScatter:
      return parts.reduce_scatter_direct();
    default:
      TERN_ASSERT(false && "the table has no such row");
  }
}

}  // namespace

int flat_run(const Operation& operation, FlatMethod way, Slots& slots) {
  Parts parts(operation, slots);
  if (TERN_LIKELY(way == FlatMethod::kWhole))
    parts.run();
  else if (way == FlatMethod::kDirect)
    run_direct(parts, operation.collective);
  else
    parts.reduce_sliced(operation.collective == Collective::kAllreduce);
  return parts.code();
}

}  // namespace tern::coll
