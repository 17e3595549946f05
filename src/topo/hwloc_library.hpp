// SPDX-License-Identifier: Apache-2.0
// HwlocLibrary: libhwloc, opened at first use, because loading takes milliseconds, and never
// closed.
#pragma once

#include <hwloc.h>

#include <memory>

namespace tern::topo {

// clang-format off
#define TERN_HWLOC_FUNCTIONS(X)                                                                 \
  X(get_api_version) X(topology_set_flags) X(topology_is_thissystem)                            \
  X(topology_init) X(topology_load) X(topology_destroy)                                         \
  X(get_type_depth) X(get_nbobjs_by_depth) X(get_obj_by_depth) X(bitmap_isset) X(bitmap_next)
// clang-format on

struct HwlocLibrary {
#define TERN_HWLOC_POINTER(name) decltype(&hwloc_##name) name = nullptr;
  TERN_HWLOC_FUNCTIONS(TERN_HWLOC_POINTER)
#undef TERN_HWLOC_POINTER
};

// hwloc_library() and load_topology() throw Error(MPI_ERR_OTHER) with the name of the Debian
// package.
const HwlocLibrary& hwloc_library();

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology load_topology(unsigned long flags);

}  // namespace tern::topo
