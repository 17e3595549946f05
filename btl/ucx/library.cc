// SPDX-License-Identifier: Apache-2.0
// Library: opens UCX with a suitable environment.
#include "btl/ucx/library.hpp"

#include <dlfcn.h>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"

namespace tern::btl::ucx {
namespace {

constexpr unsigned kLeastMajor = 1, kLeastMinor = 13;

struct Opened {
  Library library;
  std::string why;
};

/// UCX reads these variables when the library is loaded.
void set_environment(EnvironmentPresets* presets) {
  // UCX's CUDA modules would call cuInit().
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) == nullptr)
    presets->set("UCX_MODULES", "^cuda,cuda_ipc,gdr_copy");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  presets->set("UCX_MEM_EVENTS", "n");  // would patch the sanitizer's functions
#endif
  presets->set("UCX_ERROR_SIGNALS", "");
  presets->set("UCX_HANDLE_ERRORS", "none");
  presets->set("UCX_WARN_UNUSED_ENV_VARS", "n");
}

void* look_up(void* handle, const char* name, std::string* why) {
  void* const found = ::dlsym(handle, name);
  if (found == nullptr && why->empty())
    *why =
        strf("missing function %s: UCX %u.%u or newer is needed", name, kLeastMajor, kLeastMinor);
  return found;
}

Opened open(const char* name) {
  Opened opened;
  EnvironmentPresets presets;
  set_environment(&presets);
  const SignalsKept kept;
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    opened.why = strf(
        "%s (Debian and Ubuntu: apt-get install libucx0; elsewhere: "
        "TERN_UCX_LIBRARY=/.../libucp.so.0)",
        reason == nullptr ? name : reason);
    return opened;
  }
  Library& library = opened.library;
#define TERN_UCX_FIND(name) \
  library.name = reinterpret_cast<decltype(library.name)>(look_up(handle, #name, &opened.why));
  TERN_UCX_FUNCTIONS(TERN_UCX_FIND)
#undef TERN_UCX_FIND
  if (!opened.why.empty()) return opened;
  unsigned release = 0;
  library.ucp_get_version(&library.major, &library.minor, &release);
  if (library.major != kLeastMajor || library.minor < kLeastMinor)
    opened.why = strf("%s is UCX %u.%u, but %u.%u or newer is needed", name, library.major,
                      library.minor, kLeastMajor, kLeastMinor);
  return opened;
}

}  // namespace

const Library* library(const std::string& file, std::string* why) {
  static const Opened opened = open(file.empty() ? "libucp.so.0" : file.c_str());
  *why = opened.why;
  return opened.why.empty() ? &opened.library : nullptr;
}

}  // namespace tern::btl::ucx
