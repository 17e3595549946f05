// SPDX-License-Identifier: Apache-2.0
// chakra: the workload of Chakra traces, a file per rank (coll/exchange/et.hpp). A rank runs nodes
// in the order of dependencies, then of the file. Durations of nodes without communication are
// computation. Equal calls reached by all members run at once. A message is a bcast of two ranks;
// sends never wait. comm_size is the bytes of a rank's input. Calls without pg_name are of all
// ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coll/exchange/et.hpp"
#include "coll/laboratory/simulate/workload.hpp"

namespace tern::coll {

using NamedGroups = std::map<std::string, std::vector<int32_t>>;

/// Reads {"NAME": [0, 1, ...], ...}. Throws tern::Error with `name`, byte and fault.
[[nodiscard]] NamedGroups parse_named_groups(const std::string& text, const std::string& name);
/// Throws tern::Error with rank and node: unknown groups, cycles, calls that never meet.
[[nodiscard]] Workload workload_of(std::vector<std::vector<EtNode>> ranks,
                                   const NamedGroups& groups);
/// NAME.0.et, NAME.1.et, ...; `groups` is the name of a file, or empty.
[[nodiscard]] Workload load_chakra(const std::string& first, const std::string& groups);

}  // namespace tern::coll
