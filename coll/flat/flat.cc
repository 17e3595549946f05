// SPDX-License-Identifier: Apache-2.0
// Flat: which operations fit, and the methods of each.
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

#define TERN_DECLARED(value, function) void function(Parts& parts, Collective collective);
TERN_FLAT_METHODS(TERN_DECLARED)

void flat_whole(Parts& parts, Collective /*collective*/) { parts.run(); }

void flat_sliced(Parts& parts, Collective collective) {
  parts.reduce_sliced(collective == Collective::kAllreduce);
}

void flat_direct(Parts& parts, Collective collective) {
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

int flat_run(const Operation& operation, FlatMethod way, Slots& slots) {
#define TERN_ROW(value, function) function,
  static constexpr void (*kMethods[])(Parts&, Collective) = {nullptr, TERN_FLAT_METHODS(TERN_ROW)};
  Parts parts(operation, slots);
  if (TERN_LIKELY(way == FlatMethod::kWhole))
    parts.run();
  else
    kMethods[static_cast<size_t>(way)](parts, operation.collective);
  return parts.code();
}

}  // namespace tern::coll
