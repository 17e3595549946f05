// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_coll/mpi_library.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <string>
#include <type_traits>

#include "base/error.hpp"

namespace tern::coll_tool {
namespace {

constexpr const char* kName = "libmpi_abi.so.1";

std::string beside_me() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string folder(path, length > 0 ? static_cast<size_t>(length) : 0);
  for (int i = 0; i < 2; ++i) folder.resize(folder.find_last_of('/') + (i == 0 ? 0 : 1));
  return folder + "lib/" + kName;
}

}  // namespace

MpiLibrary load_mpi() {
  void* library = ::dlopen(beside_me().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) library = ::dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(MPI_ERR_OTHER, strf("tune needs the installed library: %s", ::dlerror()));
  const auto find = [library](const std::string& name, auto* function) {
    *function =
        reinterpret_cast<std::remove_pointer_t<decltype(function)>>(::dlsym(library, name.c_str()));
    if (*function == nullptr) throw Error(MPI_ERR_OTHER, strf("%s has no %s", kName, name.c_str()));
  };
  MpiLibrary mpi;
#define TERN_COLL_FIND(name) find("MPI_" #name, &mpi.name);
  TERN_COLL_FUNCTIONS(TERN_COLL_FIND)
  TERN_COLL_COLLECTIVES(TERN_COLL_FIND)
#undef TERN_COLL_FIND
#define TERN_COLL_FIND(name) find("MPIX_" #name, &mpi.name);
  TERN_COLL_EXTENSIONS(TERN_COLL_FIND)
#undef TERN_COLL_FIND
#define TERN_COLL_FIND(name) find("MPIX_" #name "_enqueue", &mpi.enqueued.name);
  TERN_COLL_COLLECTIVES(TERN_COLL_FIND)
#undef TERN_COLL_FIND
  return mpi;
}

}  // namespace tern::coll_tool
