// SPDX-License-Identifier: Apache-2.0
// On which pieces of hardware this process runs: what splits communicators by hardware.
// Cost: 5 to 20 ms at the first question (hwloc reads the machine). Threads: any.
// See: MPI-5.0 sections 7.4.2 (MPI_Comm_split_type) and 9.1.2 (MPI_Get_hw_resource_info).
#pragma once

#include <array>
#include <string_view>

#include "topo/tree.hpp"

namespace tern::api {

/// The kinds of resources, from the whole to the smallest.
inline constexpr std::array kResources = {topo::Part::Kind::kMachine, topo::Part::Kind::kPackage,
                                          topo::Part::Kind::kNuma,    topo::Part::Kind::kL3,
                                          topo::Part::Kind::kCore,    topo::Part::Kind::kPu};

/// For each of kResources: the number of the one that this process is restricted to; kNowhere where
/// it may use several; kAbsent where the machine has none, or it cannot be told.
using Place = std::array<int, kResources.size()>;
inline constexpr int kNowhere = -1;
inline constexpr int kAbsent = -2;
/// `local_index`: of this process among those of its host.
[[nodiscard]] Place place_here(int local_index) noexcept;

/// "hwloc://Package" and the like; a name without the scheme is understood, too, in any case of
/// letters. -1 for an unknown one.
[[nodiscard]] const char* resource_name(size_t resource) noexcept;
[[nodiscard]] int find_resource(std::string_view name) noexcept;

}  // namespace tern::api
