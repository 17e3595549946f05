// SPDX-License-Identifier: Apache-2.0
// Flights: a channel's flat collectives in flight, and all slabs, also
// those of freed communicators with readers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/engine/executions.hpp"
#include "coll/flat/queue.hpp"
#include "coll/flat/slots.hpp"
#include "pml/object_pool.hpp"

namespace tern::coll {

class ScheduleMaker {
 public:
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
  void admit_threads() noexcept { calls_.set_threaded(true); }

  [[nodiscard]] FlatCall* acquire();
  void release(FlatCall& call) noexcept;
  [[nodiscard]] std::unique_ptr<FlatQueue> make_queue(core::Communicator& communicator,
                                                      const Lane& lane);
  void list(FlatQueue& queue) noexcept;
  void unlist(const FlatQueue& queue) noexcept override;
  [[nodiscard]] bool idle() const noexcept { return flights_.empty(); }
  void poll(int* events) noexcept;
  TERN_COLD void refuse(core::Communicator& communicator, const Failure& why,
                        const Failure& error) noexcept;

  [[nodiscard]] std::unique_ptr<Slab> make_slab(core::Communicator& communicator, Slab::Size size,
                                                const Lane* flight) override;
  void drop_slab() noexcept { --slabs_in_use_; }
  /// lacks_slabs() drops a queue's slab, and explains the fallback.
  TERN_COLD void lacks_slabs(const core::Communicator& communicator) override;
  void retire(std::unique_ptr<Slab> slab) noexcept override;
  void part(const core::Peer& peer) noexcept {
    for (const auto& slab : retired_) slab->part(peer);
  }
  [[nodiscard]] bool all_read() noexcept {
    sweep(retired_.size());
    return retired_.empty();
  }

 private:
  void sweep(size_t most) noexcept;

  Executions& executions_;
  ScheduleMaker& schedules_;
  std::vector<FlatQueue*> flights_;
  size_t queues_ = 0;
  pml::ObjectPool<FlatCall> calls_;
  std::vector<std::unique_ptr<Slab>> retired_;
  size_t slabs_in_use_ = 0;
  size_t swept_ = 0;
};

}  // namespace tern::coll
