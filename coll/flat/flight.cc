// SPDX-License-Identifier: Apache-2.0
// Coll: nonblocking and persistent collectives of ranks that share memory.
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine_host.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "mpi.h"

namespace tern::coll {

// Larger data may lie on a device, which only its own rank knows.
bool Coll::may_fly(CommState& state, const Operation& operation) const noexcept {
  if (!state.shares_memory || !flat_takes(operation)) return false;
  if (choose(state, operation, true).algorithm->flat == FlatWay::kNone) return false;
  if (operation.collective == Collective::kReduceScatter &&
      static_cast<size_t>(operation.input.type->size() * state.asked.ranks) >
          kSmallFlightLane.room())
    return false;  // an element of each block must fit
  return flat_bytes(state.asked) < kLeastOnDevice;
}

std::unique_ptr<FlatQueue> Coll::make_queue(core::Communicator& communicator, Slab::Size size) {
  auto made = std::make_unique<FlatQueue>(*this, communicator, size);
  flights_.reserve(++queues_);  // list() cannot fail
  return made;
}

FlatCall* Coll::bound_flight(const Operation& operation, bool persistent) {
  core::Communicator& communicator = *operation.communicator;
  CommState& state = state_of(communicator);
  if (!may_fly(state, operation)) return nullptr;
  const auto size =
      flat_bytes(state.asked) <= kSmallFlightLane.room() ? Slab::Size::kSmall : Slab::Size::kLarge;
  std::unique_ptr<FlatQueue> own;
  std::unique_ptr<FlatQueue>& queue = persistent ? own : state.flights[static_cast<size_t>(size)];
  if (queue == nullptr) queue = make_queue(communicator, size);
  if (queue->lacks_slabs()) return nullptr;
  FlatCall* call = calls_.take();
  if (call == nullptr) call = calls_.add(std::make_unique<FlatCall>(*this));
  try {
    call->bind(operation, *queue);
  } catch (...) {
    call->release();
    throw;
  }
  if (persistent) call->set_persistent(std::move(own), Execution::next_persistent(communicator));
  if (TERN_UNLIKELY(process_.explain.on()) && communicator.rank() == 0) {
    Choice choice = state.answer;
    choice.algorithm = find_algorithm(operation.collective, "flat");
    call->measure(explain(state, state.asked, choice));
  }
  return call;
}

int Coll::prepare_flight(const Operation& operation, bool persistent, FlatCall** made) noexcept {
  try {
    *made = bound_flight(operation, persistent);
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a %s on %d ranks", name_of(operation.collective),
                operation.communicator->size());
  } catch (const Error& error) {
    return fail(error);
  }
}

Execution* Coll::begin_exchange(core::Communicator& communicator, uint32_t* mine, uint32_t* all,
                                const char* name, uint32_t sequence) {
  Execution* const made = bound_exchange(communicator, mine, all, name);
  made->number(sequence);
  go(*made);
  return made;
}

int Coll::run_instead(const Operation& operation, uint32_t sequence, Execution** made) noexcept {
  const int code = prepare(operation, false, made);
  if (code != MPI_SUCCESS) return code;
  (*made)->number(sequence);
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

void Coll::give_back(FlatCall& call) noexcept {
  if (call.handle() != 0) process_.handles.renew(call);
  call.made_at = {};
  calls_.give(call);
}

void Coll::lacks_slabs(const core::Communicator& communicator, Slab::Size size) {
  --slabs_in_use_;
  process_.explain.say(
      "fallback", {{"what", "messages"}, {"communicator", communicator.name}},
      strf("nonblocking collectives%s on %s take messages instead of shared memory: a rank has "
           "more communicators and persistent requests than slabs; freeing some helps those made "
           "later",
           size == Slab::Size::kLarge ? strf(" above %zu B", kSmallFlightLane.room()).c_str() : "",
           communicator.name.empty() ? "a communicator" : communicator.name.c_str()));
}

}  // namespace tern::coll
