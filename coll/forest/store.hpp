// SPDX-License-Identifier: Apache-2.0
// PlanStore: forests in a folder, a file each, for later jobs. Conditions of use: this user owns
// the file, no other user can write the file, the text is whole, and the forest is certified on the
// machine. Torn, stale and foreign files count as absent and are replaced.
// Ranks of a job use no store: a store of one host may hold another forest than that of another.
// Threads and processes: any; files are renamed into place, so readers see whole files.
#pragma once

#include <optional>
#include <string>

#include "coll/forest/certify.hpp"

namespace tern::coll::forest {

class PlanStore {
 public:
  /// `asked`: a folder, "off", or "auto" for $XDG_CACHE_HOME/tern/plans
  /// (~/.cache/tern/plans). A store without a folder keeps nothing.
  explicit PlanStore(const std::string& asked);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string path_of(const Topology& topology, Collective collective,
                                    int32_t root) const;
  [[nodiscard]] std::optional<Forest> load(const Topology& topology, Collective collective,
                                           int32_t root) const;
  /// A folder that cannot be written keeps nothing.
  void keep(const Topology& topology, const Forest& forest) const noexcept;

 private:
  std::string folder_;
};

}  // namespace tern::coll::forest
