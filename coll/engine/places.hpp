// SPDX-License-Identifier: Apache-2.0
// Places: where the ranks of a process's communicators are, as levels.
// Why: hosts come from the launcher, parts of a host from each rank's binding, and what
// TERN_COLL_LEVELS describes from nowhere else; schedules see no difference. A part is a level only
// where every rank of the job says in which one it is. Cost: nothing where the job has one host and
// the parameter says nothing. Lifetime: of Coll; one Levels for all communicators that look alike.
// Threads: under the channel's lock. See: tests/unit/coll/places_test.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/schedule/level_words.hpp"
#include "coll/schedule/levels.hpp"
#include "core/communicator.hpp"

namespace tern::coll {

class Places {
 public:
  using HostOf = int (*)(core::Process& process, int world_rank);
  /// The number of the part that a rank is restricted to; negative where it is to none.
  using PartOf = int (*)(core::Process& process, int world_rank, topo::Part::Kind kind);

  /// `host_of` is asked once per rank and communicator, where the job has several hosts.
  void set_hosts(HostOf host_of) noexcept { host_of_ = host_of; }
  void set_parts(PartOf part_of) noexcept { part_of_ = part_of; }
  /// TERN_COLL_LEVELS. Throws Error.
  void configure(const std::string& text) { words_ = level_words(text, "TERN_COLL_LEVELS"); }
  /// Null: one host, or nothing is known.
  [[nodiscard]] const Levels* of(const core::Communicator& communicator);
  /// From names of groups, outermost first, for `what`; null where they tell nothing.
  [[nodiscard]] const Levels* of_names(const core::Communicator& communicator,
                                       const std::vector<std::vector<int64_t>>& names,
                                       const char* what);

 private:
  using Names = std::vector<std::vector<int64_t>>;  // by level and rank of the world
  void ask_parts(core::Process& process);

  HostOf host_of_ = nullptr;
  PartOf part_of_ = nullptr;
  LevelWords words_;
  bool asked_ = false;
  Names parts_;  // once asked
  std::vector<std::unique_ptr<Levels>> known_;
};

}  // namespace tern::coll
