// SPDX-License-Identifier: Apache-2.0
// PlanStore: the forests of a machine in a file, for later jobs. Conditions of use: a regular file
// of this user, which no other user can write, with a whole text of forests, each certified on the
// machine. Torn, stale and foreign files count as absent and are replaced.
// A job's lowest rank alone reads and writes (Runtime): hosts' files may hold different forests.
// Threads and processes: any; files are renamed into place, so readers see whole files.
#pragma once

#include <string>

#include "coll/forest/form.hpp"

namespace tern::coll::forest {

class PlanStore {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 10;

  /// `asked`: a folder, "off", or "auto" for $XDG_CACHE_HOME/tern/plans
  /// (~/.cache/tern/plans). A store without a folder keeps nothing.
  explicit PlanStore(const std::string& asked);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string path_of(const Topology& machine) const;
  /// Empty without a usable file.
  [[nodiscard]] Forests load(const Topology& machine) const;
  /// A folder that cannot be written keeps nothing. Forests beyond kMostBytes are left out.
  void keep(const Topology& machine, const Forests& forests) const noexcept;

 private:
  std::string folder_;
};

/// Reads text_of()'s text; throws tern::Error unless all forests hold on the machine.
[[nodiscard]] Forests certified_forests(const std::string& text, const std::string& name,
                                        const Topology& machine);

}  // namespace tern::coll::forest
