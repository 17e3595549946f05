// SPDX-License-Identifier: Apache-2.0
// HwlocLibrary: opening libhwloc.
#include "topo/hwloc_library.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::topo {
namespace {

#ifndef TERN_HWLOC_LIBRARY
#define TERN_HWLOC_LIBRARY "libhwloc.so.15"
#endif

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw Error(MPI_ERR_OTHER, strf(TERN_HWLOC_LIBRARY " has no function %s", name));
}

HwlocLibrary load() {
  void* library = ::dlopen(TERN_HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    throw Error(MPI_ERR_OTHER, strf("the machine's topology is needed, but " TERN_HWLOC_LIBRARY
                                    " cannot be loaded (%s); on Debian: apt-get install libhwloc15",
                                    reason != nullptr ? reason : "no reason given"));
  }
  HwlocLibrary table;
#define TERN_HWLOC_FIND(name) find(library, "hwloc_" #name, table.name);
  TERN_HWLOC_FUNCTIONS(TERN_HWLOC_FIND)
#undef TERN_HWLOC_FIND
  return table;
}

}  // namespace

const HwlocLibrary& hwloc_library() {
  static const HwlocLibrary library = load();
  return library;
}

Topology load_topology(unsigned long flags) {
  const HwlocLibrary& hwloc = hwloc_library();
  hwloc_topology_t topology = nullptr;
  if (hwloc.topology_init(&topology) != 0)
    throw Error(MPI_ERR_OTHER, strf("hwloc cannot start: %s", std::strerror(errno)));
  Topology owner(topology, hwloc.topology_destroy);
  hwloc.topology_set_flags(topology, flags);
  if (hwloc.topology_load(topology) != 0)
    throw Error(MPI_ERR_OTHER, strf("hwloc cannot read the machine: %s", std::strerror(errno)));
  return owner;
}

}  // namespace tern::topo
