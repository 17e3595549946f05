// SPDX-License-Identifier: Apache-2.0
// The hosts named by the user, and this machine among them.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

// Parses "a,b:4". Throws tern::Error naming the word.
void add_hosts(std::vector<Host>& hosts, const std::string& list);

// The file has a host per line, "name:4" or "name slots=4", with # comments. Throws tern::Error
// naming file and line.
void add_host_file(std::vector<Host>& hosts, const std::string& path);

// Whether a name or address belongs to this machine. May query the name service.
[[nodiscard]] bool is_this_host(const std::string& name);

[[nodiscard]] const Host* first_other_host(const std::vector<Host>& hosts);

[[nodiscard]] int slots_of(const std::vector<Host>& hosts) noexcept;

}  // namespace tern::mpirun
