// SPDX-License-Identifier: Apache-2.0
// The hardware resources of this process, for splitting communicators.
// Cost: 5 to 20 ms for the first call (hwloc reads the machine). Threads: any. See: MPI-5.0
// sections 7.4.2 (MPI_Comm_split_type) and 9.1.2 (MPI_Get_hw_resource_info).
#pragma once

#include <array>
#include <string_view>

#include "topo/tree.hpp"

namespace tern::api {

/// The kinds of resources, largest first.
inline constexpr std::array kResources = {topo::Part::Kind::kMachine, topo::Part::Kind::kPackage,
                                          topo::Part::Kind::kNuma,    topo::Part::Kind::kL3,
                                          topo::Part::Kind::kCore,    topo::Part::Kind::kPu};

/// For each of kResources, the number of the resource containing all CPUs of this process; kNowhere
/// if the CPUs span several, kAbsent if the machine has none or hwloc cannot tell.
using Place = std::array<int, kResources.size()>;
inline constexpr int kNowhere = -1;
inline constexpr int kAbsent = -2;
/// `local_index`: the process's index on its host.
[[nodiscard]] Place place_here(int local_index) noexcept;

/// For example "hwloc://Package". find_resource ignores case and accepts a name without the scheme;
/// returns -1 for an unknown name.
[[nodiscard]] const char* resource_name(size_t resource) noexcept;
[[nodiscard]] int find_resource(std::string_view name) noexcept;

}  // namespace tern::api
