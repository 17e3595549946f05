// SPDX-License-Identifier: Apache-2.0
// The host engine: runs the steps of a bound schedule.
#include "coll/engine/engine_host.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace tern::coll {
namespace {

// The tag of a message: sequence of the collective, pass, lane (signals: kSignals + slot).
// Persistent collectives have sequences of their own: from kSequences.
constexpr uint32_t kSequences = 1U << 14;
constexpr int kPassBits = 8, kLowBits = 8;
constexpr int kSignals = 128;
constexpr int kMostOperands = 16;  // reduced at once
constexpr int kCheck = 255;        // not a signal's: those have a slot for each round of a barrier

}  // namespace

int Execution::tag(const PassRun& pass, int low) const noexcept {
  const auto part = static_cast<int>(pass.number & ((1 << kPassBits) - 1));
  return static_cast<int>(sequence_) << (kPassBits + kLowBits) | part << kLowBits | low;
}

void Execution::set_persistent() noexcept {
  persistent_ = true;
  set_active(false);
  operation_.communicator->keep_for_request();
  number(Refusals::next_number(*operation_.communicator, true, operation_.kind(false)));
  tag_by(sequence_of(number_));
}

uint32_t next_sequence(core::Communicator& communicator) noexcept {
  return communicator.numbers.tags++ % kSequences;
}

uint32_t sequence_of(CallNumber persistent) noexcept {
  return kSequences + persistent.value % kSequences;
}

ExecutionOwner::ExecutionOwner(core::Channel& channel, Refusals& refusals) noexcept
    : channel_(channel),
      refusals_(refusals),
      byte_(&core::predefined_type(channel.process, MPI_BYTE)) {}

Execution::Execution(ExecutionOwner& owner) noexcept
    : owner_(owner), bound_(owner.process(), owner.byte_type()), operation_(bound_.operation()) {
  channel = &owner.channel();
}

void Execution::bind(const Operation& operation, const Algorithm& algorithm, CachedSchedule& cached,
                     std::shared_ptr<CachedSchedule> own) {
  communicator = operation.communicator;
  bound_.bind(operation, {algorithm.chunk, kMostPasses}, cached, std::move(own));
  schedule_ = &bound_.schedule();
  bind_passes();
}

void Execution::bind_passes() {
  run_count_ = bound_.at_once();
  if (runs_.size() < run_count_) runs_.resize(run_count_);
  for (size_t i = 0; i < run_count_; ++i) {
    runs_[i].scratch = bound_.scratch_of(i);
    runs_[i].lanes.resize(static_cast<size_t>(schedule_->lanes()));
    for (int lane = 0; lane < schedule_->lanes(); ++lane)
      runs_[i].lanes[static_cast<size_t>(lane)].flights.reserve(
          static_cast<size_t>(schedule_->lane_size(lane)));
  }
}

void Execution::copy_aside(int32_t blocks, bool back) noexcept {
  for (int32_t i = 0; i < blocks; ++i) {
    const Bound::Aside aside = bound_.aside(i, back);
    note(core::copy(owner_.process(), aside.from, aside.to));
  }
}

void Execution::launch() noexcept {
  if (!numbered_)
    number_ = Refusals::next_number(*operation_.communicator, false, operation_.kind(false));
  if (!tagged_) sequence_ = next_sequence(*operation_.communicator);
  broken_ = false;
  ++operation_.communicator->pending;
  retain();
  outcome = {};
  outcome.source = MPI_UNDEFINED;
  error_text = nullptr;
  broken_ = false;
  restart();
  copy_aside(bound_.puts_aside(), false);
  if (TERN_UNLIKELY(measured_ != nullptr)) began_ = now_ns();
  next_pass_ = 0;
  active_passes_ = 0;
  checking_ = check_ != nullptr && schedule_->ranks + schedule_->others > 1;
  if (TERN_LIKELY(!checking_)) return begin_passes();
  const int code =
      check_->begin(owner_.pml(), owner_.byte_type(), operation_, tag(PassRun{}, kCheck));
  if (code != MPI_SUCCESS) refuse(code);
}

void Execution::refuse(int code) noexcept {
  broken_ = true;
  const Failure why{code, take_last_error().text};
  take_error(code, why.text.c_str());
  owner_.refusals().refuse_call(*operation_.communicator, number_, why);
}

void Execution::begin_passes() noexcept {
  for (size_t i = 0; i < run_count_; ++i) next_pass(runs_[i]);
}

int Execution::start() noexcept {
  const core::ChannelLock lock(operation_.communicator->channel().progress);
  const int code = owner_.refusals().over(*operation_.communicator, number_);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  set_active(true);
  owner_.go(*this);
  return MPI_SUCCESS;
}

void Execution::next_pass(PassRun& pass) noexcept {
  pass.active = next_pass_ < bound_.passes();
  if (!pass.active) return;
  pass.number = next_pass_++;
  ++active_passes_;
  for (LaneRun& lane : pass.lanes) lane.issued = 0;
}

bool Execution::advance(int& events) noexcept {
  if (TERN_UNLIKELY(checking_) && !broken_) {
    if (!check_->done()) return false;
    ++events;
    checking_ = false;
    if (const int code = check_->end(number_.value); code != MPI_SUCCESS)
      refuse(code);
    else
      begin_passes();
  }
  if (TERN_UNLIKELY(broken_)) return abandon(events);
  for (size_t i = 0; i < run_count_; ++i)
    while (runs_[i].active && advance_pass(runs_[i], events)) {
      --active_passes_;
      next_pass(runs_[i]);
    }
  if (active_passes_ != 0) return false;
  finish();
  return true;
}

// The peers' part cannot come any more: what is under way is cancelled, and the error returned.
bool Execution::abandon(int& events) noexcept {
  checking_ = checking_ && !check_->drop();
  bool left = checking_;
  for (size_t i = 0; i < run_count_; ++i)
    for (LaneRun& lane : runs_[i].lanes) {
      for (Flight& flight : lane.flights)
        if (flight.work == nullptr && !flight.done() && !std::exchange(flight.cancelled, true))
          flight.request->cancel_locked();
      events += retire(lane);
      left |= !lane.flights.empty();
    }
  if (left) return false;
  for (size_t i = 0; i < run_count_; ++i) runs_[i].active = false;
  ++events;
  broken_ = false;
  finish();
  return true;
}

void Execution::finish() noexcept {
  copy_aside(bound_.brings_back(), true);
  if (TERN_UNLIKELY(measured_ != nullptr)) measured_->nanoseconds += now_ns() - began_;
  core::Communicator* comm = operation_.communicator;
  if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) keep_communicator();
  complete();
  release();
  comm->operation_ended();
}

// True when the pass is complete.
bool Execution::advance_pass(PassRun& pass, int& events) noexcept {
  bool moved = true;
  bool complete = true;
  while (moved) {
    moved = false;
    complete = true;
    for (int lane = 0; lane < schedule_->lanes(); ++lane) {
      moved |= advance_lane(pass, lane, events);
      complete &= pass.lanes[static_cast<size_t>(lane)].complete() == schedule_->lane_size(lane);
    }
  }
  return complete;
}

bool Execution::advance_lane(PassRun& pass, int lane, int& events) noexcept {
  LaneRun& run = pass.lanes[static_cast<size_t>(lane)];
  int moved = run.flights.empty() ? 0 : retire(run);
  const int32_t size = schedule_->lane_size(lane);
  while (run.issued < size && !broken_) {
    const Step& step = schedule_->step(lane, run.issued);
    if (!ready(pass, lane, step)) break;
    issue(pass, lane, run.issued++, step);
    ++moved;
  }
  events += moved;
  return moved != 0;
}

bool Execution::ready(const PassRun& pass, int lane, const Step& step) const noexcept {
  if (pass.lanes[static_cast<size_t>(lane)].complete() < step.after) return false;
  return step.wait_steps == 0 || pass.lanes[step.wait_lane].complete() >= step.wait_steps;
}

int Execution::retire(LaneRun& lane) noexcept {
  size_t kept = 0;
  for (const Flight& flight : lane.flights) {
    if (!flight.done()) {
      lane.flights[kept++] = flight;
      continue;
    }
    if (TERN_UNLIKELY(flight.work != nullptr)) {
      land(flight);
      continue;
    }
    const core::Request& request = *flight.request;
    if (TERN_UNLIKELY(request.outcome.error != MPI_SUCCESS))
      take_error(request.outcome.error,
                 request.error_text == nullptr ? "a message failed" : request.error_text->c_str());
    flight.request->release();
  }
  const size_t retired = lane.flights.size() - kept;
  lane.flights.resize(kept);
  return static_cast<int>(retired);
}

void Execution::issue(PassRun& pass, int lane, int32_t index, const Step& step) noexcept {
  switch (step.verb) {
    case Verb::kSend:
    case Verb::kRecv:
    case Verb::kSignal:
    case Verb::kWait:
      return message(pass, lane, index, step);
    case Verb::kCopy:
      return copy(pass, lane, index, step);
    case Verb::kReduce:
      return reduce(pass, lane, index, step);
    case Verb::kJoin:
      return;
    case Verb::kPut:
    case Verb::kGet:
      TERN_ASSERT(false && "the host engine maps no peer's memory");
  }
}

void Execution::message(PassRun& pass, int lane, int32_t index, const Step& step) noexcept {
  const bool data = step.verb == Verb::kSend || step.verb == Verb::kRecv;
  const bool sends = step.verb == Verb::kSend || step.verb == Verb::kSignal;
  pml::Buffer buffer{nullptr, 0, owner_.byte_type()};
  if (data) {
    buffer = bound_.at(sends ? schedule_->source(step) : schedule_->destination(step), pass.number,
                       pass.scratch);
    if (buffer.bytes() == 0) return;  // both ends know
  }
  core::Communicator* on = operation_.communicator;
  const bool across = step.peer >= schedule_->ranks;
  if (TERN_UNLIKELY(schedule_->others != 0) && !across) on = on->side.get();
  const pml::Envelope envelope{on, across ? step.peer - schedule_->ranks : step.peer,
                               tag(pass, data ? lane : kSignals + step.slot % kSignals),
                               pml::Plane::kCollective};
  core::Request* request = nullptr;
  const int code = begin_message(buffer, envelope, sends, &request);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return refuse(code);
  LaneRun& run = pass.lanes[static_cast<size_t>(lane)];
  run.flights.push_back({index, request});  // reserved when bound
  if (request->done()) retire(run);
}

// A rank that has failed has nothing right to send: who would receive it fails as well.
int Execution::begin_message(const pml::Buffer& buffer, const pml::Envelope& envelope, bool sends,
                             core::Request** request) noexcept {
  pml::Pml& pml = owner_.pml();
  if (!sends) return pml.irecv_locked(buffer, envelope, request);
  if (TERN_LIKELY(outcome.error == MPI_SUCCESS)) return pml.isend_locked(buffer, envelope, request);
  return pml.isend_lost_locked(buffer, envelope, outcome.error, request);
}

std::unique_ptr<core::DeviceWork> Execution::new_work(bool on_device) noexcept {
  if (TERN_LIKELY(!on_device)) return nullptr;
  return std::unique_ptr<core::DeviceWork>(new (std::nothrow) core::DeviceWork(owner_.process()));
}

// A device rings no doorbell.
void Execution::fly(LaneRun& lane, int32_t index, std::unique_ptr<core::DeviceWork> work) noexcept {
  channel->progress.stay_awake(1);
  lane.flights.push_back({index, nullptr, work.release()});  // reserved when bound
}

void Execution::land(const Flight& flight) noexcept {
  const std::unique_ptr<core::DeviceWork> work(flight.work);
  note(work->finish());
  channel->progress.stay_awake(-1);
}

void Execution::copy(PassRun& pass, int lane, int32_t index, const Step& step) noexcept {
  const auto from = core::with_kind(bound_.at(schedule_->source(step), pass.number, pass.scratch));
  std::unique_ptr<core::DeviceWork> work;
  for (int i = 0; i < step.destinations; ++i) {
    const auto to =
        core::with_kind(bound_.at(schedule_->destination(step, i), pass.number, pass.scratch));
    if (TERN_UNLIKELY(from.bytes() > to.bytes())) {
      take_error(MPI_ERR_TRUNCATE,
                 strf("rank %d sends itself %zu bytes, but receives %zu from itself",
                      schedule_->rank, from.bytes(), to.bytes())
                     .c_str());
      continue;
    }
    if (work == nullptr) work = new_work(from.on_device() || to.on_device());
    if (TERN_LIKELY(!from.on_device() && !to.on_device()))
      core::copy_on_host(from, to);
    else if (work == nullptr || !work->copy(from, to))
      note(core::copy(owner_.process(), from, to));
  }
  if (TERN_UNLIKELY(work != nullptr))
    fly(pass.lanes[static_cast<size_t>(lane)], index, std::move(work));
}

void Execution::reduce(PassRun& pass, int lane, int32_t index, const Step& step) noexcept {
  const auto to =
      core::with_kind(bound_.at(schedule_->destination(step), pass.number, pass.scratch));
  std::unique_ptr<core::DeviceWork> work = new_work(to.on_device());
  std::array<pml::Buffer, kMostOperands> sources;
  // More than fit are taken from the last on, as the order of operands wants it.
  bool begun = false;
  for (int left = step.sources; left > 0;) {
    const int some = std::min(left, kMostOperands - (begun ? 1 : 0));
    for (int i = 0; i < some; ++i)
      sources[static_cast<size_t>(i)] = core::with_kind(
          bound_.at(schedule_->source(step, left - some + i), pass.number, pass.scratch));
    if (begun) sources[static_cast<size_t>(some)] = to;
    const int n = some + (begun ? 1 : 0);
    if (work == nullptr || !work->reduce(*operation_.op, sources.data(), n, to)) {
      if (work != nullptr) note(work->finish());
      note(core::reduce(owner_.process(), *operation_.op, sources.data(), n, to));
    }
    begun = true;
    left -= some;
  }
  if (TERN_UNLIKELY(work != nullptr))
    fly(pass.lanes[static_cast<size_t>(lane)], index, std::move(work));
}

void Execution::note(const Failure& why) noexcept {
  if (TERN_UNLIKELY(why)) take_error(why.code, why.text.c_str());
}

void Execution::take_error(int code, const char* text) noexcept {
  if (outcome.error != MPI_SUCCESS) return;
  outcome.error = code;
  text_ = strf("%s: %s", name_of(schedule_->collective), text);
  error_text = &text_;
}

void Execution::destroy() noexcept {
  bound_.release();
  measured_ = nullptr;
  check_.reset();
  let_communicator_go();
  core::Communicator* const kept = persistent_ ? operation_.communicator : nullptr;
  persistent_ = false;
  numbered_ = tagged_ = false;
  set_active(true);
  revive();
  owner_.release(*this);
  if (kept != nullptr) kept->request_ended();
}

void Execution::describe(WaitReport* report) const {
  const core::Communicator& comm = *operation_.communicator;
  const char* const name =
      operation_.serves == nullptr ? name_of(operation_.collective) : operation_.serves;
  report->words += part_in(name, comm);
  const char* separator = ": ";
  for (size_t run = 0; run < run_count_; ++run)
    for (const LaneRun& lane : runs_[run].lanes)
      for (const Flight& flight : lane.flights) {
        if (!runs_[run].active || flight.done()) continue;
        WaitReport one;
        if (flight.work != nullptr)
          one.words = strf("%s %zu bytes on a device", flight.work->what(), flight.work->bytes());
        else
          flight.request->describe(&one);
        if (*separator == ':') report->words += separator + one.words;
        separator = "";
        for (const int rank : one.ranks) report->wait_for(rank);
      }
}

void Execution::refused(const std::string& why) noexcept {
  broken_ = true;
  take_error(MPI_ERR_OTHER, why.c_str());
}

}  // namespace tern::coll
