// SPDX-License-Identifier: Apache-2.0
#include "coll/flat/epochs.hpp"

#include <new>

#include "base/error.hpp"

namespace tern::coll {

Failure FlatEpochs::begin(const Operation& operation, FlatMethod method, bool large,
                          uint64_t before, Slots& slots) noexcept {
  written_ = read_ = 0;
  first_ = before + 1;
  asks_ = large;
  unreadable_ = on_device_ = found_device_ = false;
  return large ? plan_large(operation, method, slots) : plan_staged(operation, method, slots);
}

// Small device data is staged. After a failed download the rank's epochs are poisoned.
Failure FlatEpochs::plan_staged(const Operation& operation, FlatMethod method,
                                Slots& slots) noexcept {
  staged_.reset();
  Failure why;
  if (TERN_UNLIKELY(uses_device(operation))) {
    try {
      staged_.emplace(operation);
      why = staged_->download();
    } catch (const std::bad_alloc&) {
      why = failure(MPI_ERR_NO_MEM, "no memory for a copy of the data");
    }
    unreadable_ = static_cast<bool>(why);
  }
  const Operation& planned = staged_ ? staged_->operation() : operation;
  if (method == FlatMethod::kTwoLevel)
    parts_ = &plan_.emplace<TwoLevel>(planned, slots);
  else
    parts_ = &plan_.emplace<Parts>(planned, slots);
  return why;
}

Failure FlatEpochs::plan_large(const Operation& operation, FlatMethod method,
                               Slots& slots) noexcept {
  on_device_ = uses_device(operation);
  switch (method) {
    case FlatMethod::kSliced:
      parts_ = &plan_.emplace<Sliced>(operation, slots);
      return {};
    case FlatMethod::kDirect:
      return plan_direct(operation, slots);
    default:
      parts_ = &plan_.emplace<Parts>(operation, slots);
      return {};
  }
}

Failure FlatEpochs::plan_direct(const Operation& operation, Slots& slots) noexcept {
  Direct& direct = plan_.emplace<Direct>(operation, slots);
  parts_ = &direct;
  if (TERN_UNLIKELY(on_device_)) return {};
  try {
    direct.prepare();
  } catch (const std::bad_alloc&) {
    direct.give_up(MPI_ERR_NO_MEM);
    return failure(MPI_ERR_NO_MEM, "no memory for a copy of the data");
  }
  return {};
}

void FlatEpochs::write(Slots& slots) noexcept {
  slots.go_to(to_write());
  const Slots::Poisoned poisoned(slots, unreadable_);
  const int64_t epoch = written_++;
  TERN_UNLIKELY(on_device_) ? parts_->write_elsewhere() : parts_->write(epoch);
}

int FlatEpochs::read(Slots& slots) noexcept {
  slots.go_to(to_read());
  if (asks_ && read_ == 0 && Parts::where(slots) != Where::kHost) {
    found_device_ = true;
    read_ = written_ = parts_->epochs();
    slots.go_to(to_read() - 1);
    slots.end();
    return MPI_SUCCESS;
  }
  const bool right = parts_->code() == MPI_SUCCESS;
  parts_->read(read_++);
  slots.end();
  return right ? parts_->code() : MPI_SUCCESS;
}

void FlatEpochs::clear() noexcept {
  staged_.reset();
  plan_.emplace<std::monostate>();
  parts_ = nullptr;
}

}  // namespace tern::coll
