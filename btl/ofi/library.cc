// SPDX-License-Identifier: Apache-2.0
// Library: opens libfabric with a suitable environment.
#include "btl/ofi/library.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/signals.hpp"
#include "mpi.h"

namespace tern::btl::ofi {
namespace {

struct Opened {
  Library library;
  std::string why;
};

Opened open(const char* name) {
  Opened opened;
  const SignalsKept kept;
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    opened.why = strf(
        "%s (Debian and Ubuntu: apt-get install libfabric1; elsewhere: "
        "TERN_OFI_LIBRARY=/.../libfabric.so.1)",
        reason == nullptr ? name : reason);
    return opened;
  }
  Library& library = opened.library;
#define TERN_OFI_FIND(name)                                                        \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, #name)); \
  if (library.name == nullptr && opened.why.empty()) opened.why = "missing function " #name;
  TERN_OFI_FUNCTIONS(TERN_OFI_FIND)
#undef TERN_OFI_FIND
  if (!opened.why.empty()) return opened;
  library.major = FI_MAJOR(library.fi_version());
  library.minor = FI_MINOR(library.fi_version());
  if (library.fi_version() < kApi)
    opened.why = strf("%s is libfabric %u.%u, but %u.%u or newer is needed", name, library.major,
                      library.minor, FI_MAJOR(kApi), FI_MINOR(kApi));
  return opened;
}

}  // namespace

// Without "cuda", libfabric does not initialise CUDA.
void preset(EnvironmentPresets* presets, size_t ranks, bool has_gpus) {
  presets->set("FI_HMEM", has_gpus ? "system;cuda" : "system");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  presets->set("FI_MR_CACHE_MONITOR", "disabled");  // would patch the sanitizer's functions
#endif
  for (const char* name : {"HFI_NO_BACKTRACE", "PSM3_NO_BACKTRACE"})  // prevents signal handlers
    presets->set(name, "1");
  // Completion queues for 256 processes, the default, exceed small adapters; MPI_Comm_spawn may add
  // processes.
  constexpr size_t kLeastUniverse = 16;
  presets->set("FI_UNIVERSE_SIZE", strf("%zu", std::max(ranks, kLeastUniverse)));
}

const Library* library(const std::string& file, std::string* why) {
  static const Opened opened = open(file.empty() ? "libfabric.so.1" : file.c_str());
  *why = opened.why;
  return opened.why.empty() ? &opened.library : nullptr;
}

void require(const Library& fi, ssize_t result, const char* what) {
  if (result < 0)
    throw Error(MPI_ERR_OTHER, strf("libfabric %u.%u: %s: %s", fi.major, fi.minor, what,
                                    fi.fi_strerror(static_cast<int>(-result))));
}

}  // namespace tern::btl::ofi
