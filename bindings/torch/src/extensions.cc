// SPDX-License-Identifier: Apache-2.0
// Looks up Tern's extensions.
#include "extensions.hpp"

#include <dlfcn.h>

namespace torch_tern {

namespace {

// Python loads packages so that their libraries' names are theirs alone: RTLD_DEFAULT would not
// find them.
void* library() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&MPI_Get_version), &info) == 0) {
    return nullptr;
  }
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

template <class Function>
void look_up(void* where, Function& function, const char* name) {
  function = where ? reinterpret_cast<Function>(dlsym(where, name)) : nullptr;
}

Extensions find() {
  Extensions found;
  void* where = library();
  look_up(where, found.boot_provide, "MPIX_Boot_provide");
  look_up(where, found.comm_interrupt, "MPIX_Comm_interrupt");
  look_up(where, found.continue_init, "MPIX_Continue_init");
  look_up(where, found.continue_all, "MPIX_Continueall");
  return found;
}

}  // namespace

const Extensions& extensions() {
  static const Extensions found = find();
  return found;
}

}  // namespace torch_tern
