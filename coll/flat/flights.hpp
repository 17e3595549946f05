// SPDX-License-Identifier: Apache-2.0
// Flights: the flat collectives of one channel that are in flight, and the slabs of all.
// Why: queues come and go with communicators and persistent requests; a slab stays until no peer
// reads it any more.
// Lifetime: Coll. Threads: under the channel's lock. See: coll/flat/queue.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/engine/executions.hpp"
#include "coll/flat/queue.hpp"
#include "coll/flat/slots.hpp"
#include "pml/object_pool.hpp"

namespace tern::coll {

/// Who can run an operation as a schedule. Coll implements it.
class ScheduleMaker {
 public:
  /// Launches it under a number that it has. The other ranks know the failure.
  [[nodiscard]] virtual Failure run_instead(const Operation& operation, CallNumber number,
                                            uint32_t sequence, Execution** made) noexcept = 0;

 protected:
  ~ScheduleMaker() = default;
};

class Flights final : public QueueOwner {
 public:
  Flights(Executions& executions, ScheduleMaker& schedules) noexcept
      : executions_(executions), schedules_(schedules) {}
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  ~Flights();

  [[nodiscard]] Executions& executions() const noexcept override { return executions_; }
  [[nodiscard]] ScheduleMaker& schedules() const noexcept { return schedules_; }
  [[nodiscard]] Refusals& refusals() const noexcept { return executions_.refusals(); }
  /// From now on several threads may call.
  void admit_threads() noexcept { calls_.set_threaded(true); }

  /// Throws std::bad_alloc.
  [[nodiscard]] FlatCall* acquire();
  void release(FlatCall& call) noexcept;
  [[nodiscard]] std::unique_ptr<FlatQueue> make_queue(core::Communicator& communicator,
                                                      const Lane& lane);
  /// Polls the queue until it is empty.
  void list(FlatQueue& queue) noexcept;
  void unlist(const FlatQueue& queue) noexcept override;
  [[nodiscard]] bool idle() const noexcept { return flights_.empty(); }
  void poll(int* events) noexcept;
  /// The calls of a communicator end with this error; the others learn the reason.
  TERN_COLD void refuse(core::Communicator& communicator, const std::string& why,
                        const std::string& error) noexcept;

  [[nodiscard]] std::unique_ptr<Slab> make_slab(core::Communicator& communicator, Slab::Size size,
                                                const Lane* flight) override;
  /// One that was made serves nothing: a rank has none.
  void drop_slab() noexcept { --slabs_in_use_; }
  /// The same, of a queue, which says so.
  TERN_COLD void lacks_slabs(const core::Communicator& communicator) override;
  void retire(std::unique_ptr<Slab> slab) noexcept override;
  /// No peer reads a slab any more whose communicator is gone.
  [[nodiscard]] bool all_read() noexcept {
    sweep(retired_.size());
    return retired_.empty();
  }

 private:
  /// Gives back what no peer reads any more, of so many that are retired.
  void sweep(size_t most) noexcept;

  Executions& executions_;
  ScheduleMaker& schedules_;
  std::vector<FlatQueue*> flights_;  // that are not empty; has room for all
  size_t queues_ = 0;
  pml::ObjectPool<FlatCall> calls_;
  std::vector<std::unique_ptr<Slab>> retired_;  // peers may still read them
  size_t slabs_in_use_ = 0;                     // by communicators
  size_t swept_ = 0;                            // where the next look at them begins
};

}  // namespace tern::coll
