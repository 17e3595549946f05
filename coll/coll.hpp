// SPDX-License-Identifier: Apache-2.0
// Coll: the collectives of one channel, dispatched through a table of executors (coll.cc).
// Lifetime: api::Runtime, within the pml's. Threads: any; run() and the start functions take the
// channel's lock. Functions that return int return an error class; fail() has the text. Order:
// collectives of a communicator are numbered when started, persistent ones when created; message
// tags contain the number.
#pragma once

#include <memory>
#include <string>

#include "coll/blocking_call.hpp"
#include "coll/context.hpp"
#include "coll/forest/forest_plan.hpp"
#include "coll/shared_collectives.hpp"
#include "coll/stream_collectives.hpp"
#include "coll/team_collectives.hpp"
#include "core/request.hpp"

namespace tern::coll {

class Coll final : UnderWay, ScheduleMaker {
 public:
  explicit Coll(core::Channel& channel);
  Coll(const Coll&) = delete;
  Coll& operator=(const Coll&) = delete;
  ~Coll();

  [[nodiscard]] int run(const Operation& operation) noexcept;
  /// *request of a nonblocking call has a handle and a reference for the caller.
  [[nodiscard]] int start(const Operation& operation, core::Request** request) noexcept {
    return make(operation, false, request);
  }
  [[nodiscard]] int init(const Operation& operation, core::Request** request) noexcept {
    return make(operation, true, request);
  }
  [[nodiscard]] StreamCollectives& streams() noexcept { return streams_; }

  /// The caller of interrupt() holds the channel's lock.
  TERN_COLD void interrupt(core::Communicator& communicator) noexcept {
    StreamCollectives::forsake_teams(communicator, "the communicator was interrupted");
    context_.refusals.interrupt(communicator);
  }

  [[nodiscard]] static const Operation* operation_of(const core::Request& request) noexcept;

  /// The process calls admit_threads() before a second thread makes MPI calls.
  void admit_threads() noexcept {
    context_.executions.admit_threads();
    context_.flights.admit_threads();
  }
  void force(const Algorithm& algorithm) noexcept { context_.selector.force(algorithm); }
  void set_hosts(Places::HostOf host_of) noexcept { context_.places.set_hosts(host_of); }
  void set_parts(Places::PartOf part_of) noexcept { context_.places.set_parts(part_of); }
  /// The plan of the job's graph, for communicators of all ranks in the job's order; or null.
  void set_graph(const std::shared_ptr<const forest::ForestPlan>& plan, bool with_sessions);
  /// Replaces the plan of communicators outside sessions, on all ranks alike.
  void set_agreed(const std::shared_ptr<const forest::ForestPlan>& plan);
  /// The forests in rank 0's `text`, if all ranks certify the text, else none. Throws tern::Error.
  [[nodiscard]] forest::Forests agree_on_forests(core::Communicator& world, const Topology& machine,
                                                 std::string text);

  void learn(const std::string& text, bool skips_sessions) { context_.learn(text, skips_sessions); }

  [[nodiscard]] Refusals& refusals() noexcept { return context_.refusals; }
  [[nodiscard]] const ScheduleCache& cache() const noexcept { return context_.executions.cache(); }
  /// all_read() is true once no peer reads slabs of freed communicators and all refusals are sent.
  [[nodiscard]] bool all_read() noexcept {
    return context_.flights.all_read() && context_.refusals.all_told();
  }
  /// No communicator has the process of another world any more.
  void part(const core::Peer& peer) noexcept { context_.flights.part(peer); }

 private:
  struct Executor;
  struct Executors;

  static int poll(void* self) noexcept;
  [[nodiscard]] CommState& state_of(core::Communicator& communicator) override {
    return context_.state_of(communicator);
  }
  TERN_COLD void refuse(core::Communicator& communicator, const Failure& why,
                        const Failure& error) noexcept override;
  TERN_COLD void hear(core::Communicator& communicator, const std::string& why) noexcept override;
  [[nodiscard]] Failure run_instead(const Operation& operation, CallNumber number,
                                    uint32_t sequence, Execution** made) noexcept override;
  [[nodiscard]] TERN_COLD int refuse_call(core::Communicator& communicator, CallNumber number,
                                          const Failure& why) noexcept;
  [[nodiscard]] static std::shared_ptr<CachedSchedule> neighborhood_of(CommState& state,
                                                                       const Algorithm& algorithm,
                                                                       const Operation& operation);
  void go_through(BlockingCall& call);
  TERN_COLD void go_through_explained(BlockingCall& call);
  TERN_COLD void go_through_tried(BlockingCall& call);
  [[nodiscard]] std::string explained(const BlockingCall& call) const;
  void run_schedule(BlockingCall& call);
  /// prepare() throws.
  [[nodiscard]] Execution* prepare(const Operation& operation, const Question& question,
                                   bool shared, bool islands);
  TERN_COLD void explain(Execution& execution, core::Communicator& communicator);
  [[nodiscard]] Execution* bind(const Operation& operation, CommState& state, const Choice& choice,
                                bool islands);
  [[nodiscard]] int make(const Operation& operation, bool persistent,
                         core::Request** request) noexcept;
  [[nodiscard]] CollRequest* make_by_executor(const Operation& operation, bool persistent);

  Context context_;
  SharedCollectives shared_;
  StreamCollectives streams_;
  TeamCollectives team_;
};

[[nodiscard]] std::unique_ptr<Coll> make(core::Channel& channel);

}  // namespace tern::coll
