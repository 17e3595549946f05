// SPDX-License-Identifier: Apache-2.0
// PmixLibrary: opening libpmix.so.2.
#include "boot/pmix_library.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

#ifndef TERN_PMIX_LIBRARY
#define TERN_PMIX_LIBRARY "libpmix.so.2"
#endif

void* open_library() {
  if (void* library = ::dlopen(TERN_PMIX_LIBRARY, RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = ::dlerror();
  throw Error(MPI_ERR_OTHER, strf("this launcher uses PMIx, but " TERN_PMIX_LIBRARY
                                  " cannot be loaded (%s); on Debian: apt-get install libpmix2",
                                  reason != nullptr ? reason : "no reason given"));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw Error(MPI_ERR_OTHER, strf(TERN_PMIX_LIBRARY " has no function %s; Tern needs version 4 "
                                                      "or later of PMIx",
                                    name));
}

PmixLibrary load() {
  void* library = open_library();
  PmixLibrary table;
#define TERN_PMIX_FIND(name) find(library, "PMIx_" #name, table.name);
  TERN_PMIX_FUNCTIONS(TERN_PMIX_FIND)
#undef TERN_PMIX_FIND
  return table;
}

}  // namespace

const PmixLibrary& pmix_library() {
  static const PmixLibrary library = load();
  return library;
}

}  // namespace tern::boot
