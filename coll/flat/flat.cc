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

bool all_read_all(Collective what) noexcept {
  return what == Collective::kAllreduce || what == Collective::kReduceScatter ||
         what == Collective::kAllgather || what == Collective::kAlltoall;
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

#define TERN_DECLARED(value, function) int function(const Operation& operation, Slots& slots);
TERN_FLAT_METHODS(TERN_DECLARED)
#undef TERN_DECLARED

int flat_whole(const Operation& operation, Slots& slots) {
  Parts parts(operation, slots);
  parts.run();
  return parts.code();
}

int flat_sliced(const Operation& operation, Slots& slots) {
  Parts parts(operation, slots);
  parts.reduce_sliced(operation.collective == Collective::kAllreduce);
  return parts.code();
}

Where flat_run_here(const Operation& operation, Slots& slots, bool mine, int* code) {
  Parts parts(operation, slots);
  const Where where = parts.run_here(mine);
  *code = parts.code();
  return where;
}

Where flat_ask(const Operation& operation, size_t bytes, Slots& slots, bool mine, bool on_device) {
  slots.begin(name_of(operation.collective));
  slots.claim();
  slots.post(bytes | (mine ? Slots::kElsewhere : 0) | (on_device ? Slots::kFromDevice : 0));
  Where where = Parts::where(slots);
  for (int i = 0; i < slots.ranks() && where == Where::kHost; ++i)
    if ((slots.await(i).bytes & Slots::kFromDevice) != 0) where = Where::kUnknown;
  slots.awaited_all();
  slots.end();
  return where;
}

int flat_run(const Operation& operation, FlatMethod method, Slots& slots) {
#define TERN_ROW(value, function) function,
  static constexpr int (*kMethods[])(const Operation&, Slots&) = {nullptr,
                                                                  TERN_FLAT_METHODS(TERN_ROW)};
#undef TERN_ROW
  if (TERN_LIKELY(method == FlatMethod::kWhole)) return flat_whole(operation, slots);
  return kMethods[static_cast<size_t>(method)](operation, slots);
}

}  // namespace tern::coll
