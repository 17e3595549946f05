// SPDX-License-Identifier: Apache-2.0
// FlatCall: one collective in flight.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/flat/flights.hpp"
#include "coll/flat/queue.hpp"

namespace tern::coll {

FlatCall::FlatCall(Flights& owner) noexcept : flights_(owner) {
  channel = &owner.executions().channel();
}

FlatCall::~FlatCall() = default;

void FlatCall::bind(const Operation& operation, FlatQueue& queue, FlatMethod method, bool large) {
  const int ranks = operation.communicator->size();
  kept_.keep(operation, ranks, ranks);
  queue_ = &queue;
  method_ = method;
  large_ = large;
  communicator = operation.communicator;
}

void FlatCall::set_persistent(std::unique_ptr<FlatQueue> queue, CallNumber number) noexcept {
  persistent_ = true;
  set_active(false);
  operation().communicator->keep_for_request();
  own_ = std::move(queue);
  queue_ = own_.get();
  number_ = number;
  sequence_ = sequence_of(number);
}

void FlatCall::launch() noexcept {
  if (!persistent_) {
    number_ = Refusals::next_number(*operation().communicator, false, operation().kind(false));
    sequence_ = next_sequence(*operation().communicator);
  }
  blocking_ = false;
  enqueue();
}

void FlatCall::launch_blocking(CallNumber number) noexcept {
  number_ = number;
  sequence_ = next_sequence(*operation().communicator);
  blocking_ = true;
  enqueue();
}

void FlatCall::enqueue() noexcept {
  ++operation().communicator->pending;
  retain();
  outcome = {};
  outcome.source = MPI_UNDEFINED;
  error_text = nullptr;
  restart();
  if (TERN_UNLIKELY(measured_ != nullptr)) began_ = now_ns();
  queue_->push(*this);
  flights_.list(*queue_);
}

int FlatCall::start() noexcept {
  const core::ChannelLock lock(flights_.executions().channel().progress);
  const int code = flights_.refusals().over(*operation().communicator, number_);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  set_active(true);
  launch();
  return MPI_SUCCESS;
}

void FlatCall::begin(Slots& slots) noexcept {
  const Failure why = epochs_.begin(operation(), method_, large_, queue_->epochs_, slots);
  queue_->epochs_ += epochs_.count();
  if (TERN_UNLIKELY(why)) take_error(why.code, why.text);
}

void FlatCall::become_schedule() noexcept {
  if (outcome.error != MPI_SUCCESS)
    flights_.refusals().refuse_call(*operation().communicator, number_,
                                    failure(outcome.error, "%s", text_.c_str()));
}

bool FlatCall::advance_schedule() noexcept {
  if (schedule_ == nullptr) {
    if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) return true;  // it was refused
    const Failure why =
        flights_.schedules().run_instead(operation(), number_, sequence_, &schedule_);
    if (!why) return false;
    take_error(why.code, why.text);
    return true;
  }
  if (!schedule_->done()) return false;
  if (schedule_->outcome.error != MPI_SUCCESS)
    take_error(schedule_->outcome.error, *schedule_->error_text);
  schedule_->release();
  schedule_ = nullptr;
  return true;
}

void FlatCall::take_error(int code, const std::string& text) noexcept {
  if (outcome.error != MPI_SUCCESS) return;
  outcome.error = code;
  text_ = text;
  error_text = &text_;
}

void FlatCall::end() noexcept {
  if (outcome.error == MPI_SUCCESS)
    if (const Failure why = epochs_.end()) take_error(why.code, why.text);
  if (TERN_UNLIKELY(measured_ != nullptr)) measured_->nanoseconds += now_ns() - began_;
}

void FlatCall::finish() noexcept {
  core::Communicator* const comm = operation().communicator;
  if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) keep_communicator();
  complete();
  release();
  comm->operation_ended();
}

void FlatCall::destroy() noexcept {
  kept_.release();
  epochs_.clear();
  own_.reset();
  measured_ = nullptr;
  let_communicator_go();
  core::Communicator* const kept = persistent_ ? operation().communicator : nullptr;
  persistent_ = false;
  set_active(true);
  revive();
  flights_.release(*this);
  if (kept != nullptr) kept->request_ended();
}

void FlatCall::describe(WaitReport* report) const {
  if (schedule_ != nullptr) return schedule_->describe(report);
  const char* const name =
      operation().serves == nullptr ? name_of(operation().collective) : operation().serves;
  report->words += part_in(name, *operation().communicator);
  queue_->describe(*this, report);
}

}  // namespace tern::coll
