// SPDX-License-Identifier: Apache-2.0
// Coll: nonblocking and persistent collectives of ranks that share memory.
#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
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
    queue = flights_.make_queue(communicator, persistent ? lane_of_one(bytes)
                                              : small    ? kSmallFlightLane
                                                         : kLargeFlightLane);
  if (queue->lacks_slabs()) return nullptr;
  FlatCall* const call = flights_.acquire();
  try {
    call->bind(operation, *queue);
  } catch (...) {
    call->release();
    throw;
  }
  if (persistent) call->set_persistent(std::move(own), Refusals::next_number(communicator, true));
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

int Coll::run_instead(const Operation& operation, CallNumber number, uint32_t sequence,
                      Execution** made) noexcept {
  const int code = prepare(operation, question_of(operation), false, made);
  if (code != MPI_SUCCESS) {
    refusals_.refuse_call(*operation.communicator, number, code);
    return code;
  }
  (*made)->number(number);
  (*made)->tag_by(sequence);
  executions_.go(**made);
  return MPI_SUCCESS;
}

}  // namespace tern::coll
