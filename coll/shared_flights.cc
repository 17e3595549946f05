// SPDX-License-Identifier: Apache-2.0
// SharedCollectives: calls in flight.
#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "coll/shared_collectives.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr const Lane* kLanes[] = {&kSmallFlightLane, &kMediumFlightLane, &kLargeFlightLane};

/// How a large call is done where a blocking one would be done so. In its first epoch each rank
/// must hear of all others.
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

/// Of small data. Many ranks take domains where a row for domains exists.
FlatMethod small_method(const Question& question, FlatMethod blocking) noexcept {
  const bool through_domains =
      blocking == FlatMethod::kTwoLevel ||
      (question.ranks > Slab::kFewRanks &&
       find_algorithm(question.collective, row_of(FlatMethod::kTwoLevel)) != nullptr);
  return through_domains ? FlatMethod::kTwoLevel : FlatMethod::kWhole;
}

/// Of a persistent request, which is at most once in flight: few pages, and, if they do, in a small
/// slab.
Lane lane_of_one(size_t bytes) noexcept {
  constexpr size_t kLine = 64;
  const size_t most = kMediumFlightLane.room();
  const size_t stride = (Slot::kHead + std::min(bytes, most) + kLine - 1) / kLine * kLine;
  return {sizeof(SlabHead), stride, bytes <= most ? 2U : 4U};
}

}  // namespace

// Large data may lie on a device, which only its own rank knows: in its first epoch all learn it. A
// persistent call is bound once, and a schedule that is bound is as fast.
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

FlatCall* SharedCollectives::bound_flight(CommState& state, const Operation& operation,
                                          const Question& question, bool persistent,
                                          const Algorithm** row) {
  core::Communicator& communicator = *operation.communicator;
  const Flight flight = flight_of(state, operation, question, persistent);
  if (flight == Flight::kNone) return nullptr;
  FlatMethod method = context_.choose(state, operation, question, true).algorithm->flat;
  if (method == FlatMethod::kNone) return nullptr;
  const bool large = flight == Flight::kLarge;
  method = large ? large_method(operation.collective, method) : small_method(question, method);
  if (method == FlatMethod::kNone) return nullptr;
  *row = find_algorithm(operation.collective, row_of(method));
  std::unique_ptr<FlatQueue> own;
  std::unique_ptr<FlatQueue>& queue = persistent ? own : state.flights[static_cast<size_t>(flight)];
  if (queue == nullptr)
    queue = context_.flights.make_queue(communicator, persistent
                                                          ? lane_of_one(flat_bytes(question))
                                                          : *kLanes[static_cast<size_t>(flight)]);
  if (queue->has_failed()) return nullptr;
  FlatCall* const call = context_.flights.acquire();
  try {
    call->bind(operation, *queue, method, large);
  } catch (...) {
    call->release();
    throw;
  }
  if (persistent)
    call->set_persistent(std::move(own),
                         Refusals::next_number(communicator, true, operation.kind(false)));
  return call;
}

const char* SharedCollectives::why_not_in_flight(const BlockingCall& call) noexcept {
  if (call.shared == nullptr) return "the ranks share no memory";
  if (flight_of(call.state, call.operation, call.question, false) != Flight::kLarge)
    return "small data takes one epoch";
  return call.method() == FlatMethod::kSliced ? nullptr : "the row is not sliced";
}

bool SharedCollectives::run_in_flight(BlockingCall& call) {
  const Algorithm* row = nullptr;
  FlatCall* const flight = bound_flight(call.state, call.operation, call.question, false, &row);
  if (flight == nullptr) return false;
  flight->launch_blocking(call.number);
  context_.channel.progress.wait([flight] { return flight->done(); },
                                 [flight](WaitReport* report) { flight->describe(report); });
  call.where = flight->where();
  call.code = flight->outcome.error;
  const std::string why = call.code == MPI_SUCCESS ? std::string() : *flight->error_text;
  flight->release();
  const bool done = call.where == Where::kHost;
  if (TERN_LIKELY(call.code == MPI_SUCCESS)) return done;
  if (!done) throw Error(call.code, why);
  call.code = fail(call.code, "%s", why.c_str());
  return true;
}

int SharedCollectives::prepare_flight(const Operation& operation, const Question& question,
                                      bool persistent, FlatCall** made) noexcept {
  try {
    CommState& state = context_.state_of(*operation.communicator);
    const Algorithm* row = nullptr;
    *made = bound_flight(state, operation, question, persistent, &row);
    if (*made == nullptr || TERN_LIKELY(!context_.explains(*operation.communicator)))
      return MPI_SUCCESS;
    Choice choice = state.answer;
    choice.algorithm = row;
    (*made)->measure(context_.explain(state, state.question, choice));
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for %s on %d ranks", name_of(operation.collective),
                operation.communicator->size());
  } catch (const Error& error) {
    return fail(error);
  }
}

}  // namespace tern::coll
