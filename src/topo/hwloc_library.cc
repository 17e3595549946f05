// SPDX-License-Identifier: Apache-2.0
// Opening libhwloc.
#include "topo/hwloc_library.hpp"

#include <dlfcn.h>

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

}  // namespace tern::topo
