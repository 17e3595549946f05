// SPDX-License-Identifier: Apache-2.0
// The environment of the ranks: mpirun's own without variables of another launcher, plus each
// rank's identity for PMIx and for other launchers' wrapper scripts.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/meeting.hpp"
#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

class Environment {
 public:
  Environment(const char* const* inherited, const JobFacts& facts);

  void set(const std::string& name, const std::string& value);
  void unset(const std::string& name);

  // Returns a block that is valid until the next call.
  [[nodiscard]] char* const* of_rank(int rank, const Pairs& extra);

 private:
  void put(std::vector<std::string>& into, const std::string& name, const std::string& value);

  std::vector<std::string> common_;
  std::vector<std::string> own_;
  std::vector<char*> block_;
};

// Returns the names of variables for ranks on other hosts: the inherited ones without variables of
// another launcher or of the login on this host.
[[nodiscard]] std::vector<std::string> names_for_other_hosts(const char* const* inherited);

}  // namespace tern::mpirun
