// SPDX-License-Identifier: Apache-2.0
#include "trace/ranges.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"

namespace tern::trace {
namespace {

using Function = void (*)();

// Modules and callbacks by NVTX's numbers; other callbacks stay unused.
constexpr int kCore2 = 5, kModules = 7;
constexpr unsigned kPush = 4, kPop = 5, kDomainCreate = 12, kCallbacks = 17;
constexpr uint32_t kCallbackTable = 1, kVersionTable = 3, kNvtxVersion = 3;

Function functions[kModules][kCallbacks];
Function* places[kModules][kCallbacks];

struct Attributes {
  uint16_t version = kNvtxVersion, size = sizeof(Attributes);
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 0, reserved = 0;
  uint64_t payload = 0;
  int32_t message_type = 1;  // ASCII
  const char* message = nullptr;
};
static_assert(sizeof(Attributes) == 48);

using Domain = void*;
Domain domain = nullptr;
int (*push)(Domain, const Attributes*) = nullptr;
int (*pop)(Domain) = nullptr;

int module_functions(int module, Function*** table, unsigned* size) noexcept {
  if (module <= 0 || module >= kModules) return 0;
  if (table != nullptr) *table = places[module];
  if (size != nullptr) *size = kCallbacks;
  return 1;
}

struct CallbackTable {
  size_t size = sizeof(CallbackTable);
  int (*functions)(int, Function***, unsigned*) = module_functions;
};

struct VersionTable {
  size_t size = sizeof(VersionTable);
  uint32_t version = kNvtxVersion, reserved = 0;
  void (*set_tools_version)(uint32_t) = [](uint32_t) {};
};

const void* export_table(uint32_t which) noexcept {
  static const CallbackTable callbacks;
  static const VersionTable versions;
  return which == kCallbackTable  ? static_cast<const void*>(&callbacks)
         : which == kVersionTable ? static_cast<const void*>(&versions)
                                  : nullptr;
}

}  // namespace

std::string start_ranges() {
  const char* const path = std::getenv(kProfilerVariable);
  if (path == nullptr || *path == '\0') return {};
  void* const library = ::dlopen(path, RTLD_LAZY);
  if (library == nullptr) return strf("MPI calls get no NVTX ranges: %s", ::dlerror());
  for (int module = 1; module < kModules; ++module)  // 0 is no callback
    for (unsigned i = 1; i < kCallbacks; ++i) places[module][i] = &functions[module][i];
  const auto initialise = reinterpret_cast<int (*)(const void* (*)(uint32_t))>(
      ::dlsym(library, "InitializeInjectionNvtx2"));
  if (initialise == nullptr || initialise(export_table) == 0)
    return strf("MPI calls get no NVTX ranges: %s %s", path,
                initialise == nullptr ? "is no NVTX tool" : "refuses to start");
  const Function* const found = functions[kCore2];
  if (found[kDomainCreate] == nullptr || found[kPush] == nullptr || found[kPop] == nullptr)
    return strf("MPI calls get no NVTX ranges: %s takes no ranges of domains", path);
  domain = reinterpret_cast<Domain (*)(const char*)>(found[kDomainCreate])("MPI");
  pop = reinterpret_cast<int (*)(Domain)>(found[kPop]);
  push = reinterpret_cast<int (*)(Domain, const Attributes*)>(found[kPush]);
  return {};
}

void begin_range(const char* name) noexcept {
  if (push == nullptr) return;
  Attributes attributes;
  attributes.message = name;
  (void)push(domain, &attributes);
}

void end_range() noexcept {
  if (pop != nullptr) (void)pop(domain);
}

}  // namespace tern::trace
