// SPDX-License-Identifier: Apache-2.0
// Context: a channel's collective state shared by all executors. Lifetime: Coll.
#pragma once

#include <memory>
#include <string>

#include "coll/comm_state.hpp"
#include "coll/engine/executions.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/places.hpp"
#include "coll/engine/refusal.hpp"
#include "coll/flat/flights.hpp"
#include "coll/select/select.hpp"
#include "coll/tuner.hpp"
#include "core/process.hpp"

namespace tern::coll {

struct Context {
  Context(core::Channel& of, UnderWay& under_way, ScheduleMaker& schedules);

  /// state_of() throws std::bad_alloc.
  [[nodiscard]] CommState& state_of(core::Communicator& communicator);
  /// `shared` allows rows of shared memory. `islands` uses the levels of devices where known.
  /// With a graph, choose() throws std::bad_alloc.
  [[nodiscard]] const Choice& choose(CommState& state, const Operation& operation,
                                     Question question, bool shared, bool islands = false) const;
  /// A call out of program order uses no memo, because ranks' memos may differ.
  [[nodiscard]] Choice choose_apart(const CommState& state, const Operation& operation) const;
  [[nodiscard]] static const Levels* levels_of(const CommState& state, bool islands) noexcept {
    return islands && state.islands != nullptr ? state.islands : state.levels;
  }
  TERN_COLD Measured* explain(CommState& state, const Question& question, const Choice& choice,
                              const std::string& more = {});
  /// `skips_sessions` excludes communicators of sessions, possibly used before the rules arrive.
  /// Throws std::bad_alloc.
  void learn(const std::string& text, bool skips_sessions);
  [[nodiscard]] bool explains(const core::Communicator& communicator) const noexcept {
    return TERN_UNLIKELY(process.explain.on()) && communicator.rank() == 0;
  }

  core::Channel& channel;
  core::Process& process;
  Selector selector;
  Places places;
  std::shared_ptr<const Plan> plan;        // of the job, for sessions; null: none
  std::shared_ptr<const Plan> world_plan;  // the same, with the agreed forests
  bool checks = false;
  Refusals refusals;
  Executions executions;
  Flights flights;
  Tuner tuner;

 private:
  [[nodiscard]] std::string graph_in_words(const Question& question, const Choice& choice) const;
  [[nodiscard]] bool shares_memory(const core::Communicator& communicator) const noexcept;
  [[nodiscard]] Selector::MeasuredSources known_to(
      const core::Communicator& communicator) const noexcept;

  bool skips_sessions_ = false;
};

/// True if the order of operands may change: exact types, or the hint tern_any_order. User types
/// are excluded, because their addresses may be reused.
[[nodiscard]] TERN_COLD bool any_order_of(const CommState& state,
                                          const Operation& operation) noexcept;
[[nodiscard]] Question question_of(const Operation& operation) noexcept;

}  // namespace tern::coll
