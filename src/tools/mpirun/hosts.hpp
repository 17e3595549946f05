// SPDX-License-Identifier: Apache-2.0
// The hosts that the user named, and which of them is this one.
// See: tests/unit/tools/hosts_test.cc.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

// Adds "a,b:4". Throws tern::Error naming the word.
void add_hosts(std::vector<Host>& hosts, const std::string& list);

// Adds a file's: a host on each line, "name:4" or "name slots=4", comments from # on. Throws
// tern::Error naming file and line.
void add_host_file(std::vector<Host>& hosts, const std::string& path);

// Whether a name or address is this machine's. May ask the name service.
[[nodiscard]] bool is_this_host(const std::string& name);

// The first host that is another machine; nullptr: none.
[[nodiscard]] const Host* first_other_host(const std::vector<Host>& hosts);

// The sum of the slots; 0 where none were said.
[[nodiscard]] int slots_of(const std::vector<Host>& hosts) noexcept;

}  // namespace tern::mpirun
