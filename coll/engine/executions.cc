// SPDX-License-Identifier: Apache-2.0
// Executions: pool and progress.
#include "coll/engine/executions.hpp"

#include <utility>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

Executions::Executions(core::Channel& channel, Refusals& refusals) noexcept
    : ExecutionOwner(channel, refusals) {}

Executions::~Executions() {
  for (const auto& execution : pool_.all())
    if (execution->handle() != 0) process().handles.erase(*execution);
}

Execution* Executions::acquire() {
  Execution* execution = pool_.acquire();
  if (execution != nullptr) return execution;
  execution = pool_.add(std::make_unique<Execution>(*this));
  running_.reserve(pool_.all().size());
  return execution;
}

void Executions::release(Execution& execution) noexcept { pool_.release(execution); }

Execution* Executions::bound(const Operation& operation, const Algorithm& algorithm,
                             const Levels* levels, const Plan* plan,
                             std::shared_ptr<CachedSchedule> own) {
  const core::Communicator& comm = *operation.communicator;
  const int root = rooted(operation.collective) ? operation.root : 0;
  CachedSchedule& cached =
      own != nullptr ? *own
      : comm.inter()
          ? cache_.get_between(algorithm, comm.size(), comm.peer_count(), comm.rank(), root)
          : cache_.get(algorithm, comm.size(), comm.rank(), root, levels, plan);
  Execution* made = acquire();
  try {
    made->bind(operation, algorithm, cached, std::move(own));
  } catch (...) {
    made->release();
    throw;
  }
  return made;
}

void Executions::go(Execution& execution) noexcept {
  int events = 0;
  execution.launch();
  if (!execution.advance(events)) running_.push_back(&execution);
}

void Executions::advance(int* events) noexcept {
  for (size_t i = 0; i < running_.size();) {
    if (!running_[i]->advance(*events)) {
      ++i;
      continue;
    }
    running_[i] = running_.back();
    running_.pop_back();
  }
}

void Executions::refuse(core::Communicator& communicator, const Failure& why,
                        const Failure& error) noexcept {
  for (Execution* const execution : running_)
    if (execution->communicator == &communicator) {
      refusals_.broken_off(communicator, execution->number(), why);
      execution->refused(error);
    }
}

Execution* Executions::bound_exchange(core::Communicator& communicator, const void* mine, void* all,
                                      size_t bytes, const char* name) {
  Operation operation{};
  operation.collective = Collective::kAllgather;
  operation.communicator = &communicator;
  const auto count = static_cast<MPI_Count>(bytes);
  operation.input = {const_cast<void*>(mine), count, byte_, nullptr, nullptr};
  operation.output = {all, count, byte_, nullptr, nullptr};
  operation.serves = name;
  static const Algorithm& bruck = *find_algorithm(Collective::kAllgather, "bruck");
  return bound(operation, bruck, nullptr, nullptr, nullptr);
}

void Executions::gather(core::Communicator& communicator, const void* mine, void* all, size_t bytes,
                        const char* name) {
  Execution* const exchange = bound_exchange(communicator, mine, all, bytes, name);
  Failure why = exchange->run();
  exchange->release();
  if (why) throw Error(std::move(why));
}

std::vector<uint32_t> Executions::exchange(core::Communicator& communicator, uint32_t mine,
                                           const char* name) {
  std::vector<uint32_t> all(static_cast<size_t>(communicator.size()));
  gather(communicator, &mine, all.data(), sizeof mine, name);
  return all;
}

Execution* Executions::begin_exchange(core::Communicator& communicator, uint32_t* mine,
                                      uint32_t* all, const char* name, CallNumber number,
                                      uint32_t sequence) {
  Execution* const made = bound_exchange(communicator, mine, all, sizeof *mine, name);
  made->number(number);
  made->tag_by(sequence);
  go(*made);
  return made;
}

}  // namespace tern::coll
