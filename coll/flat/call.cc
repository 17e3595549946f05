// SPDX-License-Identifier: Apache-2.0
// FlatCall: one collective in flight.
#include <utility>

#include "base/error.hpp"
#include "coll/flat/flights.hpp"
#include "coll/flat/queue.hpp"

namespace tern::coll {

FlatCall::FlatCall(Flights& owner) noexcept
    : CollRequest(owner.executions().channel(), owner.refusals()), flights_(owner) {}

FlatCall::~FlatCall() = default;

void FlatCall::bind(const Operation& operation, FlatQueue& queue, FlatMethod method, bool large) {
  const int ranks = operation.communicator->size();
  kept_.keep(operation, ranks, ranks);
  queue_ = &queue;
  method_ = method;
  large_ = large;
  communicator = operation.communicator;
}

void FlatCall::go() noexcept {
  CollRequest::begin();
  queue_->push(*this);
  flights_.list(*queue_);
}

void FlatCall::begin(Slots& slots) noexcept {
  Failure why = epochs_.begin(operation(), method_, large_, queue_->epochs_, slots);
  queue_->epochs_ += epochs_.count();
  if (TERN_UNLIKELY(why)) take_error(std::move(why));
}

void FlatCall::become_schedule() noexcept {
  if (outcome.error != MPI_SUCCESS)
    refusals().refuse_call(*operation().communicator, number(),
                           failure(outcome.error, "%s", error_text->c_str()));
}

bool FlatCall::advance_schedule() noexcept {
  if (schedule_ == nullptr) {
    if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) return true;
    Failure why = flights_.schedules().run_instead(operation(), number(), sequence(), &schedule_);
    if (!why) return false;
    take_error(std::move(why));
    return true;
  }
  if (!schedule_->done()) return false;
  if (schedule_->outcome.error != MPI_SUCCESS)
    take_error(failure(schedule_->outcome.error, "%s", schedule_->error_text->c_str()));
  schedule_->release();
  schedule_ = nullptr;
  return true;
}

void FlatCall::end_epochs() noexcept {
  if (outcome.error == MPI_SUCCESS)
    if (Failure why = epochs_.end()) take_error(std::move(why));
}

void FlatCall::unbind() noexcept {
  epochs_.clear();
  own_.reset();
  blocking_ = false;
}

void FlatCall::pool() noexcept { flights_.release(*this); }

void FlatCall::describe(WaitReport* report) const {
  if (schedule_ != nullptr) return schedule_->describe(report);
  CollRequest::describe(report);
  queue_->describe(*this, report);
}

}  // namespace tern::coll
