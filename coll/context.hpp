// SPDX-License-Identifier: Apache-2.0
// Context: the parts of a channel's collectives that all executors use: selection, places of ranks,
// executions, calls in flight, refusals.
// Lifetime: Coll. Threads: under the channel's lock, except selection.
// See: coll/coll.hpp.
#pragma once

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

  /// Made at the communicator's first collective. Throws std::bad_alloc.
  [[nodiscard]] CommState& state_of(core::Communicator& communicator);
  /// For a call in the program's order. `question`: of question_of(); the communicator's facts are
  /// added here. `shared`: choose among
  /// the rows of ranks with shared memory, too. `islands`: use the levels of the communicator's
  /// devices where they are known.
  [[nodiscard]] const Choice& choose(CommState& state, const Operation& operation,
                                     Question question, bool shared,
                                     bool islands = false) const noexcept;
  /// The same for a call out of the program's order: by facts that no later call changes, and
  /// without the memo, since the ranks' memos differ at such a moment.
  [[nodiscard]] Choice choose_apart(const CommState& state,
                                    const Operation& operation) const noexcept;
  [[nodiscard]] static const Levels* levels_of(const CommState& state, bool islands) noexcept {
    return islands && state.islands != nullptr ? state.islands : state.levels;
  }
  /// The sum to which the caller adds the time of a call with this choice. Says each new choice,
  /// with `more` behind the sentence.
  TERN_COLD Measured* explain(CommState& state, const Question& question, const Choice& choice,
                              const std::string& more = {});
  /// Lines of earlier jobs, from Boot::learnt(). `skips_sessions`: communicators of sessions get no
  /// lines, since some ranks may use a communicator before the lines come. Throws std::bad_alloc.
  void learn(const std::string& text, bool skips_sessions);
  [[nodiscard]] bool explains(const core::Communicator& communicator) const noexcept {
    return TERN_UNLIKELY(process.explain.on()) && communicator.rank() == 0;
  }

  core::Channel& channel;
  core::Process& process;
  Selector selector;
  Places places;
  bool checks = false;  // TERN_CHECK=collective
  Refusals refusals;
  Executions executions;
  Flights flights;
  Tuner tuner;

 private:
  [[nodiscard]] bool shares_memory(const core::Communicator& communicator) const noexcept;
  [[nodiscard]] Selector::Known known_to(const core::Communicator& communicator) const noexcept;

  bool skips_sessions_ = false;
};

/// The facts of an operation on which selection depends.
[[nodiscard]] Question question_of(const Operation& operation) noexcept;

}  // namespace tern::coll
