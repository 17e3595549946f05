// SPDX-License-Identifier: Apache-2.0
// Coll: nonblocking and persistent collectives of ranks that share memory.
#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine_host.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

/// Of a persistent request, which is at most once in flight: few pages, and, if they do, in a small
/// slab.
Lane lane_of_one(size_t bytes) noexcept {
  constexpr size_t kLine = 64;
  const size_t most = kLargeFlightLane.room();
  const size_t stride = (Slot::kHead + std::min(bytes, most) + kLine - 1) / kLine * kLine;
  return {sizeof(SlabHead), stride, bytes <= most ? 2U : 4U};
}

}  // namespace

// Larger data may lie on a device, which only its own rank knows.
bool Coll::may_fly(CommState& state, const Operation& operation,
                   const Question& question) const noexcept {
  if (!state.shares_memory || !flat_takes(operation)) return false;
  if (choose(state, operation, question, true).algorithm->flat == FlatMethod::kNone) return false;
  if (operation.collective == Collective::kReduceScatter &&
      static_cast<size_t>(operation.input.type->size() * question.ranks) > kLargeFlightLane.room())
    return false;  // an element of each block must fit
  return flat_bytes(question) < kLeastOnDevice;
}

std::unique_ptr<FlatQueue> Coll::make_queue(core::Communicator& communicator, const Lane& lane) {
  auto made = std::make_unique<FlatQueue>(*this, communicator, lane);
  flights_.reserve(++queues_);  // list() cannot fail
  return made;
}

FlatCall* Coll::bound_flight(const Operation& operation, const Question& question,
                             bool persistent) {
  core::Communicator& communicator = *operation.communicator;
  CommState& state = state_of(communicator);
  if (!may_fly(state, operation, question)) return nullptr;
  const size_t bytes = flat_bytes(question);
  const bool small = bytes <= kSmallFlightLane.room();
  std::unique_ptr<FlatQueue> own;
  std::unique_ptr<FlatQueue>& queue = persistent ? own : state.flights[small ? 0 : 1];
  if (queue == nullptr)
    queue = make_queue(communicator, persistent ? lane_of_one(bytes)
                                     : small    ? kSmallFlightLane
                                                : kLargeFlightLane);
  if (queue->lacks_slabs()) return nullptr;
  FlatCall* call = calls_.acquire();
  if (call == nullptr) call = calls_.add(std::make_unique<FlatCall>(*this));
  try {
    call->bind(operation, *queue);
  } catch (...) {
    call->release();
    throw;
  }
  if (persistent) call->set_persistent(std::move(own), next_number(communicator, true));
  if (TERN_UNLIKELY(process_.explain.on()) && communicator.rank() == 0) {
    Choice choice = state.answer;
    choice.algorithm = find_algorithm(operation.collective, "flat");
    call->measure(explain(state, state.question, choice));
  }
  return call;
}

int Coll::prepare_flight(const Operation& operation, const Question& question, bool persistent,
                         FlatCall** made) noexcept {
  try {
    *made = bound_flight(operation, question, persistent);
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a %s on %d ranks", name_of(operation.collective),
                operation.communicator->size());
  } catch (const Error& error) {
    return fail(error);
  }
}

Execution* Coll::begin_exchange(core::Communicator& communicator, uint32_t* mine, uint32_t* all,
                                const char* name, CallNumber number, uint32_t sequence) {
  Execution* const made = bound_exchange(communicator, mine, all, name);
  made->number(number);
  made->tag_by(sequence);
  go(*made);
  return made;
}

int Coll::run_instead(const Operation& operation, CallNumber number, uint32_t sequence,
                      Execution** made) noexcept {
  const int code = prepare(operation, question_of(operation), false, made);
  if (code != MPI_SUCCESS) {
    refuse_call(*operation.communicator, number, code);
    return code;
  }
  (*made)->number(number);
  (*made)->tag_by(sequence);
  go(**made);
  return MPI_SUCCESS;
}

void Coll::poll_flights(int* events) noexcept {
  for (size_t i = 0; i < flights_.size();) {
    FlatQueue& queue = *flights_[i];
    FlatCall* ended = nullptr;
    queue.advance(&ended, events);
    if (queue.empty()) {
      queue.listed = false;
      flights_[i] = flights_.back();
      flights_.pop_back();
    } else {
      ++i;
    }
    while (ended != nullptr) {
      FlatCall& call = *ended;
      ended = call.next();
      call.finish();  // the queue may be gone
    }
  }
}

void Coll::list(FlatQueue& queue) noexcept {
  if (queue.listed) return;
  queue.listed = true;
  flights_.push_back(&queue);
}

void Coll::unlist(const FlatQueue& queue) noexcept {
  --queues_;
  if (queue.listed) std::erase(flights_, &queue);
}

void Coll::release(FlatCall& call) noexcept {
  if (call.handle() != 0) process_.handles.renew(call);
  call.made_at = {};
  calls_.release(call);
}

void Coll::lacks_slabs(const core::Communicator& communicator) {
  --slabs_in_use_;
  process_.explain.say(
      "fallback", {{"what", "messages"}, {"communicator", communicator.name.text()}},
      strf("nonblocking collectives on %s take messages instead of shared memory: a rank has more "
           "communicators and persistent requests than slabs; freeing some helps those made later",
           communicator.name.or_words("a communicator").c_str()));
}

}  // namespace tern::coll
