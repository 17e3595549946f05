// SPDX-License-Identifier: Apache-2.0
// Tuner: the contests of communicators, their clock and their agreements (TERN_COLL_TUNE).
// The first blocking calls of a communicator (Memo::kFirst) cost a decrement each and no memory.
// A contest's key is made of facts known to all ranks, so all ranks hold the same contests. Trials
// take blocking calls alone; a large nonblocking call takes the serving row of the moment.
// Lifetime: Context. Threads: under the channel's lock. See: coll/select/contest.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/compiler.hpp"
#include "base/error.hpp"
#include "base/learnt_file.hpp"
#include "base/params.hpp"
#include "coll/select/memo.hpp"

namespace tern::core {
class Process;
}

namespace tern::coll {

class Executions;
struct CommState;

class Tuner {
 public:
  Tuner(core::Process& process, const Selector& selector, Executions& executions) noexcept;

  /// Results of this rank's contests go to this file.
  void keep_in(LearntFile file) { file_ = std::move(file); }
  void save() noexcept;

  /// Behind a new answer: finds the contest of the question's calls, and takes the winner's row.
  void attend(CommState& state) const noexcept;

  /// A blocking call between two looks at the clock. Meanwhile the memo's answer is the call's row.
  class Trial {
   public:
    /// Throws std::bad_alloc.
    Trial(Tuner& tuner, CommState& state);
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial();
    /// Whether the clock runs.
    [[nodiscard]] bool counts() const noexcept { return entry_ != nullptr; }
    /// The call has ended. May agree with the other ranks. Throws Error, std::bad_alloc.
    void end();

   private:
    Tuner& tuner_;
    CommState& state_;
    Tuning::Entry* entry_;  // null: an ordinary call
    Question asked_;
    Choice answer_;
    int64_t began_ = 0;
  };

 private:
  [[nodiscard]] static uint32_t key_of(const Question& question) noexcept;
  [[nodiscard]] Tuning::Entry* find(const CommState& state) const noexcept;
  [[nodiscard]] Tuning::Entry* enter(CommState& state) const;
  [[nodiscard]] TERN_COLD static Error different_rows(const CommState& state,
                                                      const Tuning::Entry& entry, size_t rank);
  void agree(CommState& state, Tuning::Entry& entry);
  void note(const Tuning::Entry& entry);
  /// TERN_EXPLAIN.
  TERN_COLD void tell(const CommState& state, const Tuning::Entry& entry,
                      const std::string& news) const;

  core::Process& process_;
  const Selector& selector_;
  Executions& executions_;
  const CollTune mode_;
  std::optional<LearntFile> file_;
  std::map<std::string, std::string> learnt_;  // lines by their calls
};

}  // namespace tern::coll
