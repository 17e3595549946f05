// SPDX-License-Identifier: Apache-2.0
// Execution: runs the steps of a bound schedule.
#include "coll/engine/engine_host.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace tern::coll {
namespace {

// A message tag contains the collective's sequence, pass, and lane (signals: kSignals + slot).
constexpr int kPassBits = 8, kLowBits = 8;
constexpr int kSignals = 128;
constexpr int kMostOperands = 16;
constexpr int kCheck = 255;  // distinct from signals, with a slot per barrier round

}  // namespace

int Execution::tag(const PassRun& pass, int low) const noexcept {
  const auto part = static_cast<int>(pass.number & ((1 << kPassBits) - 1));
  return static_cast<int>(sequence()) << (kPassBits + kLowBits) | part << kLowBits | low;
}

ExecutionOwner::ExecutionOwner(core::Channel& channel, Refusals& refusals) noexcept
    : channel_(channel),
      refusals_(refusals),
      byte_(&core::predefined_type(channel.process, MPI_BYTE)) {}

Execution::Execution(ExecutionOwner& owner) noexcept
    : CollRequest(owner.channel(), owner.refusals()),
      owner_(owner),
      bound_(owner.process(), owner.byte_type(), kept_) {}

void Execution::bind(const Operation& operation, const Algorithm& algorithm, CachedSchedule& cached,
                     std::shared_ptr<CachedSchedule> own) {
  communicator = operation.communicator;
  bound_.bind(operation, algorithm.chunk, cached, std::move(own));
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

void Execution::copy_aside(bool back) noexcept {
  bound_.each_aside(back, [&](const Bound::Aside& aside) {
    note(core::copy(owner_.process(), aside.from, aside.to));
  });
}

void Execution::launch() noexcept {
  begin();
  broken_ = false;
  copy_aside(false);
  next_pass_ = 0;
  active_passes_ = 0;
  checking_ = check_ != nullptr && schedule_->ranks + schedule_->others > 1;
  if (TERN_LIKELY(!checking_)) return begin_passes();
  const int code =
      check_->begin(owner_.pml(), owner_.byte_type(), operation(), tag(PassRun{}, kCheck));
  if (code != MPI_SUCCESS) refuse(code);
}

void Execution::refuse(int code) noexcept {
  broken_ = true;
  const Failure why{code, take_last_error().text};
  note_error(code, why.text.c_str());
  refusals().refuse_call(*operation().communicator, number(), why);
}

void Execution::begin_passes() noexcept {
  for (size_t i = 0; i < run_count_; ++i) next_pass(runs_[i]);
}

void Execution::next_pass(PassRun& pass) noexcept {
  pass.active = next_pass_ < bound_.passes();
  // Passes that never wait may be far ahead, but those with the same tag must begin in order, the
  // first complete before the next.
  for (size_t i = 0; TERN_UNLIKELY(next_pass_ >> kPassBits != 0) && i < run_count_; ++i)
    if (&runs_[i] != &pass && runs_[i].active &&
        next_pass_ - runs_[i].number >= MPI_Count{1} << kPassBits)
      pass.active = false;
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
    if (const int code = check_->end(number().value); code != MPI_SUCCESS)
      refuse(code);
    else
      begin_passes();
  }
  if (TERN_UNLIKELY(broken_)) return abandon(events);
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t i = 0; i < run_count_; ++i) {
      PassRun& run = runs_[i];
      if (TERN_UNLIKELY(!run.active) && next_pass_ < bound_.passes()) next_pass(run);
      if (!run.active || !advance_pass(run, events)) continue;
      run.active = false;
      --active_passes_;
      next_pass(run);
      moved |= run.active;
    }
  }
  if (active_passes_ != 0) return false;
  finish();
  return true;
}

// abandon() cancels the remaining messages, because the peers have stopped.
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
  copy_aside(true);
  end();
}

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
      note_error(request.outcome.error,
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
    if (buffer.bytes() == 0) return;  // sender and receiver know the size
  }
  core::Communicator* on = operation().communicator;
  const bool across = step.peer >= schedule_->ranks;
  if (TERN_UNLIKELY(schedule_->others != 0) && !across) on = on->side.get();
  const pml::Envelope envelope{on, across ? step.peer - schedule_->ranks : step.peer,
                               tag(pass, data ? lane : kSignals + step.slot % kSignals),
                               pml::Plane::kCollective};
  core::Request* request = nullptr;
  const int code = begin_message(buffer, envelope, sends, &request);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return refuse(code);
  LaneRun& run = pass.lanes[static_cast<size_t>(lane)];
  run.flights.push_back({index, request});
  if (request->done()) retire(run);
}

// A failed rank has no valid data, so its receivers fail too.
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

// A device rings no doorbell, so progress stays awake.
void Execution::fly(LaneRun& lane, int32_t index, std::unique_ptr<core::DeviceWork> work) noexcept {
  channel->progress.stay_awake(1);
  lane.flights.push_back({index, nullptr, work.release()});
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
      note_error(MPI_ERR_TRUNCATE,
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
  // Excess operands are reduced from the last on, to keep their order.
  bool begun = false;
  for (int left = step.sources; left > 0;) {
    const int some = std::min(left, kMostOperands - (begun ? 1 : 0));
    for (int i = 0; i < some; ++i)
      sources[static_cast<size_t>(i)] = core::with_kind(
          bound_.at(schedule_->source(step, left - some + i), pass.number, pass.scratch));
    if (begun) sources[static_cast<size_t>(some)] = to;
    const int n = some + (begun ? 1 : 0);
    if (work == nullptr || !work->reduce(*operation().op, sources.data(), n, to)) {
      if (work != nullptr) note(work->finish());
      note(core::reduce(owner_.process(), *operation().op, sources.data(), n, to));
    }
    begun = true;
    left -= some;
  }
  if (TERN_UNLIKELY(work != nullptr))
    fly(pass.lanes[static_cast<size_t>(lane)], index, std::move(work));
}

void Execution::note(const Failure& why) noexcept {
  if (TERN_UNLIKELY(why)) note_error(why.code, why.text.c_str());
}

void Execution::note_error(int code, const char* text) noexcept {
  take_error(failure(code, "%s: %s", name_of(schedule_->collective), text));
}

void Execution::unbind() noexcept {
  bound_.release();
  check_.reset();
}

void Execution::describe(WaitReport* report) const {
  CollRequest::describe(report);
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

void Execution::refused(const Failure& why) noexcept {
  broken_ = true;
  note_error(why.code, why.text.c_str());
}

}  // namespace tern::coll
