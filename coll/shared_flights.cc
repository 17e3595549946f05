// SPDX-License-Identifier: Apache-2.0
// SharedCollectives: calls in flight.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "coll/shared_collectives.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr const Lane* kLanes[] = {&kSmallFlightLane, &kMediumFlightLane, &kLargeFlightLane};

/// large_method() derives the method from the blocking method. In the first epoch each rank must
/// read from all others.
FlatMethod large_method(Collective what, FlatMethod blocking) noexcept {
  if (blocking == FlatMethod::kSliced || blocking == FlatMethod::kDirect) return blocking;
  switch (what) {
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kAllreduce:
    case Collective::kReduceScatter:
      return FlatMethod::kWhole;
    case Collective::kReduce:
      return FlatMethod::kSliced;
    default:
      return FlatMethod::kNone;
  }
}

const char* row_of(FlatMethod method) noexcept {
  switch (method) {
    case FlatMethod::kTwoLevel:
      return "flat_two_level";
    case FlatMethod::kSliced:
      return "flat_sliced";
    case FlatMethod::kDirect:
      return "flat_direct";
    default:
      return "flat";
  }
}

/// Many ranks use domains if possible.
FlatMethod small_method(const Question& question, FlatMethod blocking) noexcept {
  const bool through_domains =
      blocking == FlatMethod::kTwoLevel ||
      (question.ranks > Slab::kFewRanks &&
       find_algorithm(question.collective, row_of(FlatMethod::kTwoLevel)) != nullptr);
  return through_domains ? FlatMethod::kTwoLevel : FlatMethod::kWhole;
}

/// A persistent request's lane has few pages.
Lane lane_of_one(size_t bytes) noexcept {
  constexpr size_t kLine = 64;
  const size_t most = kMediumFlightLane.room();
  const size_t stride = (Slot::kHead + std::min(bytes, most) + kLine - 1) / kLine * kLine;
  return {sizeof(SlabHead), stride, bytes <= most ? 2U : 4U};
}

}  // namespace

// A rank knows the place of its own large data alone; the first epoch tells all ranks. For
// persistent calls a schedule, bound once, is as fast.
SharedCollectives::Flight SharedCollectives::flight_of(const CommState& state,
                                                       const Operation& operation,
                                                       const Question& question,
                                                       bool persistent) noexcept {
  if (!state.shares_memory || !flat_takes(operation)) return Flight::kNone;
  const size_t bytes = flat_bytes(question);
  const bool large = bytes >= kLeastOnDevice;
  if (large && (persistent || !state.shares_large)) return Flight::kNone;
  const Lane& longest = large ? kLargeFlightLane : kMediumFlightLane;
  if (!fits_in_slot(operation, question, longest)) return Flight::kNone;
  if (large) return Flight::kLarge;
  return bytes <= kSmallFlightLane.room() ? Flight::kSmall : Flight::kMedium;
}

SharedCollectives::FlightPlan SharedCollectives::plan_flight(CommState& state,
                                                             const Operation& operation,
                                                             const Question& question,
                                                             bool persistent) const noexcept {
  const Flight flight = flight_of(state, operation, question, persistent);
  if (flight == Flight::kNone) return {};
  const Choice& choice = context_.choose(state, operation, question, true);
  const FlatMethod blocking =
      flight == Flight::kLarge ? choice.algorithm->flat : state.memo.untuned;
  if (blocking == FlatMethod::kNone) return {};
  const FlatMethod method = flight == Flight::kLarge ? large_method(operation.collective, blocking)
                                                     : small_method(question, blocking);
  if (method == FlatMethod::kNone) return {};
  const FlatQueue* const queue =
      persistent ? nullptr : state.flights[static_cast<size_t>(flight)].get();
  if (queue != nullptr && queue->has_failed()) return {};
  return {flight, method};
}

FlatCall* SharedCollectives::bind_flight(CommState& state, const Operation& operation,
                                         const Question& question, bool persistent,
                                         const FlightPlan& plan) {
  std::unique_ptr<FlatQueue> own;
  const auto lanes = static_cast<size_t>(plan.lanes);
  std::unique_ptr<FlatQueue>& queue = persistent ? own : state.flights[lanes];
  if (queue == nullptr)
    queue = context_.flights.make_queue(
        *operation.communicator, persistent ? lane_of_one(flat_bytes(question)) : *kLanes[lanes]);
  FlatCall* const call = context_.flights.acquire();
  try {
    call->bind(operation, *queue, plan.method, plan.lanes == Flight::kLarge);
  } catch (...) {
    call->release();
    throw;
  }
  call->own(std::move(own));
  return call;
}

const char* SharedCollectives::why_not_in_flight(const BlockingCall& call) noexcept {
  if (call.shared == nullptr) return "the ranks share no memory";
  if (flight_of(call.state, call.operation, call.question, false) != Flight::kLarge)
    return "small data takes one epoch";
  return call.method() == FlatMethod::kSliced ? nullptr : "the row is not sliced";
}

bool SharedCollectives::run_in_flight(BlockingCall& call) {
  const FlightPlan plan = plan_flight(call.state, call.operation, call.question, false);
  if (plan.lanes == Flight::kNone) return false;
  FlatCall* const flight = bind_flight(call.state, call.operation, call.question, false, plan);
  flight->number(call.number);
  flight->be_blocking();
  Failure why = flight->run();
  call.where = flight->where();
  flight->release();
  const bool done = call.where == Where::kHost;
  if (TERN_UNLIKELY(why && !done)) throw Error(std::move(why));
  call.code = fail(why);
  return done;
}

FlatCall* SharedCollectives::make_flight(const Operation& operation, const Question& question,
                                         bool persistent) {
  CommState& state = context_.state_of(*operation.communicator);
  const FlightPlan plan = plan_flight(state, operation, question, persistent);
  if (plan.lanes == Flight::kNone) return nullptr;
  Measured* sum = nullptr;
  if (TERN_UNLIKELY(context_.explains(*operation.communicator))) {
    Choice choice = state.memo.answer;
    choice.algorithm = find_algorithm(operation.collective, row_of(plan.method));
    sum = context_.explain(state, state.memo.question, choice);
  }
  FlatCall* const call = bind_flight(state, operation, question, persistent, plan);
  call->measure(sum);
  return call;
}

}  // namespace tern::coll
