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
  operation_ = operation;
  queue_ = &queue;
  method_ = method;
  large_ = large;
  communicator = operation.communicator;
  input_type_ = core::Ref<core::Datatype>(operation.input.type);
  output_type_ = core::Ref<core::Datatype>(operation.output.type);
  op_ = core::Ref<core::Op>(operation.op);
  const MPI_Count* const counts = operation.input.counts;
  if (counts == nullptr) return;
  counts_.assign(counts, counts + operation.communicator->size());
  operation_.input.counts = counts_.data();
}

void FlatCall::set_persistent(std::unique_ptr<FlatQueue> queue, CallNumber number) noexcept {
  persistent_ = true;
  set_active(false);
  operation_.communicator->keep_for_request();
  own_ = std::move(queue);
  queue_ = own_.get();
  number_ = number;
  sequence_ = sequence_of(number);
}

void FlatCall::launch() noexcept {
  if (!persistent_) {
    number_ = Refusals::next_number(*operation_.communicator, false, operation_.kind(false));
    sequence_ = next_sequence(*operation_.communicator);
  }
  blocking_ = false;
  enqueue();
}

void FlatCall::launch_blocking(CallNumber number) noexcept {
  number_ = number;
  sequence_ = next_sequence(*operation_.communicator);
  blocking_ = true;
  enqueue();
}

void FlatCall::enqueue() noexcept {
  ++operation_.communicator->pending;
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
  const int code = flights_.refusals().over(*operation_.communicator, number_);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  set_active(true);
  launch();
  return MPI_SUCCESS;
}

// Small data of a device goes through host memory. A rank that cannot read it says so in its
// epochs.
void FlatCall::begin(Slots& slots) noexcept {
  written_ = read_ = 0;
  unreadable_ = false;
  elsewhere_ = becomes_schedule_ = false;
  parts_ = &plan(slots);
  first_epoch_ = queue_->epochs_ + 1;
  queue_->epochs_ += static_cast<uint64_t>(parts_->epochs());
}

Parts& FlatCall::plan(Slots& slots) noexcept {
  if (!large_) return plan_staged(slots);
  elsewhere_ = uses_device(operation_);
  switch (method_) {
    case FlatMethod::kSliced:
      return plan_.emplace<Sliced>(operation_, slots);
    case FlatMethod::kDirect:
      return plan_direct(slots);
    default:
      return plan_.emplace<Parts>(operation_, slots);
  }
}

Parts& FlatCall::plan_staged(Slots& slots) noexcept {
  staged_.reset();
  if (TERN_UNLIKELY(uses_device(operation_))) {
    Failure why;
    try {
      staged_.emplace(operation_);
      why = staged_->download();
    } catch (const std::bad_alloc&) {
      why = failure(MPI_ERR_NO_MEM, "no memory for a copy of the data");
    }
    unreadable_ = static_cast<bool>(why);
    if (why) take_error(why.code, why.text);
  }
  const Operation& operation = staged_ ? staged_->operation() : operation_;
  if (method_ == FlatMethod::kTwoLevel) return plan_.emplace<TwoLevel>(operation, slots);
  return plan_.emplace<Parts>(operation, slots);
}

Parts& FlatCall::plan_direct(Slots& slots) noexcept {
  Direct& direct = plan_.emplace<Direct>(operation_, slots);
  if (TERN_UNLIKELY(elsewhere_)) return direct;
  try {
    direct.prepare();
  } catch (const std::bad_alloc&) {
    direct.give_up(MPI_ERR_NO_MEM);
    take_error(MPI_ERR_NO_MEM, "no memory for a copy of the data");
  }
  return direct;
}

void FlatCall::write(Slots& slots) noexcept {
  slots.go_to(first_epoch_ + static_cast<uint64_t>(written_));
  const Slots::Poisoned poisoned(slots, unreadable_);
  if (TERN_UNLIKELY(elsewhere_)) {
    ++written_;
    return parts_->write_elsewhere();
  }
  parts_->write(written_++);
}

void FlatCall::read(Slots& slots) noexcept {
  slots.go_to(first_epoch_ + static_cast<uint64_t>(read_));
  if (large_ && read_ == 0 && Parts::where(slots) != Where::kHost) return become_schedule(slots);
  const bool right = parts_->code() == MPI_SUCCESS;
  parts_->read(read_++);
  slots.end();
  if (TERN_UNLIKELY(right && parts_->code() != MPI_SUCCESS))
    take_error(parts_->code(), take_last_error().text);
}

void FlatCall::become_schedule(Slots& slots) noexcept {
  read_ = written_ = parts_->epochs();
  slots.go_to(first_epoch_ + static_cast<uint64_t>(read_) - 1);
  slots.end();
  becomes_schedule_ = true;
  if (blocking_) return;
  if (outcome.error != MPI_SUCCESS)
    flights_.refusals().refuse_call(*operation_.communicator, number_,
                                    failure(outcome.error, "%s", text_.c_str()));
}

bool FlatCall::advance_schedule() noexcept {
  if (schedule_ == nullptr) {
    if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) return true;  // it was refused
    const Failure why =
        flights_.schedules().run_instead(operation_, number_, sequence_, &schedule_);
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
  if (TERN_UNLIKELY(staged_ && outcome.error == MPI_SUCCESS)) {
    if (const Failure why = staged_->upload()) take_error(why.code, why.text);
  }
  if (TERN_UNLIKELY(measured_ != nullptr)) measured_->nanoseconds += now_ns() - began_;
}

void FlatCall::finish() noexcept {
  core::Communicator* const comm = operation_.communicator;
  if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) keep_communicator();
  complete();
  release();
  comm->operation_ended();
}

void FlatCall::destroy() noexcept {
  input_type_ = {};
  output_type_ = {};
  op_ = {};
  staged_.reset();
  plan_.emplace<std::monostate>();
  parts_ = nullptr;
  own_.reset();
  measured_ = nullptr;
  let_communicator_go();
  core::Communicator* const kept = persistent_ ? operation_.communicator : nullptr;
  persistent_ = false;
  set_active(true);
  revive();
  flights_.release(*this);
  if (kept != nullptr) kept->request_ended();
}

void FlatCall::describe(WaitReport* report) const {
  if (schedule_ != nullptr) return schedule_->describe(report);
  const char* const name =
      operation_.serves == nullptr ? name_of(operation_.collective) : operation_.serves;
  report->words += part_in(name, *operation_.communicator);
  queue_->describe(*this, report);
}

}  // namespace tern::coll
