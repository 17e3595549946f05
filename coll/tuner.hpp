// SPDX-License-Identifier: Apache-2.0
// Tuner: contests of communicators, with clock and agreements (TERN_COLL_TUNE). A contest's key has
// only facts known to all ranks.
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

  void keep_in(LearntFile file) { file_ = std::move(file); }
  void save() noexcept;

  void attend(CommState& state) const noexcept;

  class Trial {
   public:
    Trial(Tuner& tuner, CommState& state);
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial();
    [[nodiscard]] bool counts() const noexcept { return entry_ != nullptr; }
    /// Trial::end() may agree with the other ranks. Throws Error, std::bad_alloc.
    void end();

   private:
    Tuner& tuner_;
    CommState& state_;
    Tuning::TunedKey* entry_;  // null if the call is not measured
    Question asked_;
    Choice answer_;
    int64_t began_ = 0;
  };

 private:
  [[nodiscard]] static uint32_t key_of(const Question& question) noexcept;
  [[nodiscard]] Tuning::TunedKey* find(const CommState& state) const noexcept;
  [[nodiscard]] Tuning::TunedKey* enter(CommState& state) const;
  [[nodiscard]] TERN_COLD static Error different_rows(const CommState& state,
                                                      const Tuning::TunedKey& entry, size_t rank);
  void agree(CommState& state, Tuning::TunedKey& entry);
  void note(const Tuning::TunedKey& entry);
  TERN_COLD void tell(const CommState& state, const Tuning::TunedKey& entry,
                      const std::string& news) const;

  core::Process& process_;
  const Selector& selector_;
  Executions& executions_;
  const CollTune mode_;
  std::optional<LearntFile> file_;
  std::map<std::string, std::string> learnt_;
};

}  // namespace tern::coll
