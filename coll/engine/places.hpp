// SPDX-License-Identifier: Apache-2.0
// Places: levels of communicators, from the launcher's hosts, rank bindings, and TERN_COLL_LEVELS.
// A kind of machine part is a level only if every rank of the job is bound to such a part. Cost:
// none on a single host. Lifetime: Coll; equal communicators share a Levels.
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
  using HostOf = int (*)(core::Process& process, const core::Peer& peer);
  /// PartOf is negative for a rank without a binding.
  using PartOf = int (*)(core::Process& process, int world_rank, topo::MachinePart::Kind kind);

  void set_hosts(HostOf host_of) noexcept { host_of_ = host_of; }
  void set_parts(PartOf part_of) noexcept { part_of_ = part_of; }
  void configure(const std::string& text) { words_ = level_words(text, "TERN_COLL_LEVELS"); }
  [[nodiscard]] const Levels* of(const core::Communicator& communicator);
  /// of_names() returns null for uninformative names. `names` begins with the outermost level.
  [[nodiscard]] const Levels* of_names(const core::Communicator& communicator,
                                       const std::vector<std::vector<int64_t>>& names,
                                       const char* what);

 private:
  using Names = std::vector<std::vector<int64_t>>;
  void ask_parts(core::Process& process);

  HostOf host_of_ = nullptr;
  PartOf part_of_ = nullptr;
  LevelWords words_;
  bool asked_ = false;
  Names parts_;
  std::vector<std::unique_ptr<Levels>> known_;
};

}  // namespace tern::coll
