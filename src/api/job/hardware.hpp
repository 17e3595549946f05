// SPDX-License-Identifier: Apache-2.0
// The hardware resources of this process, for splitting communicators (MPI-5.0 section 7.4.2).
// Cost: 5 to 20 ms for the first call (hwloc).
#pragma once

#include <array>
#include <string_view>

#include "topo/tree.hpp"

namespace tern::api {

inline constexpr std::array kResources = {
    topo::MachinePart::Kind::kMachine, topo::MachinePart::Kind::kPackage,
    topo::MachinePart::Kind::kNuma,    topo::MachinePart::Kind::kL3,
    topo::MachinePart::Kind::kCore,    topo::MachinePart::Kind::kPu};

/// For each of kResources, the resource with all CPUs of this process; kNowhere for several,
/// kAbsent if unknown.
using CpuLocation = std::array<int, kResources.size()>;
inline constexpr int kNowhere = -1;
inline constexpr int kAbsent = -2;
[[nodiscard]] CpuLocation place_here(int local_index) noexcept;

/// resource_name() returns "hwloc://Package"; find_resource() ignores case and scheme, and returns
/// -1 if unknown.
[[nodiscard]] const char* resource_name(size_t resource) noexcept;
[[nodiscard]] int find_resource(std::string_view name) noexcept;

}  // namespace tern::api
