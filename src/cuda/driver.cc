// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/error.hpp"
#include "cuda/loaded.hpp"

namespace tern::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Found {
  std::atomic<const Driver*> driver{nullptr}, unusable{nullptr};
  std::atomic<uint64_t> looked_at{0};
  std::mutex mutex;
  Driver table;
  std::string missing;
};
Found found;
constexpr uint64_t kNeverAgain = UINT64_MAX;

/// libraries_loaded() takes some 20 ns, and runs only if no_driver_since cannot tell.
uint64_t libraries_loaded() noexcept {
  uint64_t count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uint64_t*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

template <class Function>
bool resolve(void* library, const char* name, Function& place) noexcept {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

// NOLINTNEXTLINE(readability-function-size): statements of rows
const char* fill(void* library, Driver& table) noexcept {
  const char* lacks = nullptr;
#define TERN_CUDA_REQUIRED_ROW(name, ...) \
  if (!resolve(library, #name, table.name) && lacks == nullptr) lacks = #name;
#define TERN_CUDA_OPTIONAL_ROW(name, ...) (void)resolve(library, #name, table.name);
  TERN_CUDA_FUNCTIONS(TERN_CUDA_REQUIRED_ROW, TERN_CUDA_OPTIONAL_ROW)
#undef TERN_CUDA_REQUIRED_ROW
#undef TERN_CUDA_OPTIONAL_ROW
  return lacks;
}

std::string words_of_version(int version) {
  return strf("%d.%d", version / 1000, version % 1000 / 10);
}

void never_again() noexcept {
  found.looked_at.store(kNeverAgain, std::memory_order_release);
  no_driver_since.trust();
}

// CUDA does not work in a forked child.
void forget_in_child() noexcept {
  found.driver.store(nullptr, std::memory_order_relaxed);
  found.unusable.store(nullptr, std::memory_order_relaxed);
  never_again();
}

TERN_COLD const Driver* look_for(int flags) noexcept {
  const std::lock_guard<std::mutex> guard(found.mutex);
  if (const Driver* known = found.driver.load(std::memory_order_acquire)) return known;
  const link_map* const last = load_last();
  const uint64_t loaded = libraries_loaded();
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == nullptr) {
    found.looked_at.store(loaded, std::memory_order_release);
    if (last != nullptr) no_driver_since.look_at(*last);
    return nullptr;
  }
  const char* const lacks = fill(library, found.table);
  if (found.table.cuDriverGetVersion != nullptr)
    (void)found.table.cuDriverGetVersion(&found.table.version);
  if (lacks != nullptr) {
    found.missing = strf("%s (CUDA %s) has no %s: device memory needs a driver for CUDA %s",
                         kLibrary, words_of_version(found.table.version).c_str(), lacks,
                         words_of_version(first_version_of(lacks)).c_str());
    never_again();
    if (found.table.cuPointerGetAttributes == nullptr) return nullptr;
    found.unusable.store(&found.table, std::memory_order_release);
    no_driver_since.doubt();
    return nullptr;
  }
  ::pthread_atfork(nullptr, nullptr, forget_in_child);
  found.driver.store(&found.table, std::memory_order_release);
  no_driver_since.doubt();
  return &found.table;
}

}  // namespace

const Driver* driver() noexcept {
  if (const Driver* known = found.driver.load(std::memory_order_acquire); TERN_LIKELY(known))
    return known;
  if (TERN_LIKELY(no_driver_since.still())) return nullptr;
  const uint64_t before = found.looked_at.load(std::memory_order_acquire);
  if (before == kNeverAgain) return nullptr;
  return TERN_LIKELY(libraries_loaded() == before) ? nullptr : look_for(RTLD_NOLOAD);
}

const Driver* unusable_driver() noexcept { return found.unusable.load(std::memory_order_acquire); }

int first_version_of(std::string_view function) noexcept {
#define TERN_CUDA_SINCE(name, version)                        \
  static_assert(version > 12000 && &Driver::name != nullptr); \
  if (function == #name) return version;
  TERN_CUDA_LATER(TERN_CUDA_SINCE)
#undef TERN_CUDA_SINCE
  return 12000;
}

std::string lacks_in_words(const Driver& driver, const char* function) {
  return strf("the driver for CUDA %s lacks %s, which needs a driver for CUDA %s",
              words_of_version(driver.version).c_str(), function,
              words_of_version(first_version_of(function)).c_str());
}

// NOLINTNEXTLINE(readability-function-size): statements of rows
std::vector<std::string> missing_functions(const Driver& driver) {
  std::vector<std::string> missing;
#define TERN_CUDA_NONE(name, ...)
#define TERN_CUDA_MISSING(name, ...) \
  if (driver.name == nullptr)        \
    missing.push_back(strf("%s (%s)", #name, words_of_version(first_version_of(#name)).c_str()));
  TERN_CUDA_FUNCTIONS(TERN_CUDA_NONE, TERN_CUDA_MISSING)
#undef TERN_CUDA_NONE
#undef TERN_CUDA_MISSING
  return missing;
}

void load_driver() noexcept { (void)look_for(0); }

std::string driver_in_words() {
  if (const Driver* known = driver()) return words_of_version(known->version);
  const std::lock_guard<std::mutex> guard(found.mutex);
  return found.missing.empty() ? strf("no (%s is not loaded)", kLibrary) : found.missing;
}

std::string words_of(const char* function, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  const Driver* const known = driver();
  if (known != nullptr && known->cuGetErrorName(result, &name) == CUDA_SUCCESS &&
      known->cuGetErrorString(result, &text) == CUDA_SUCCESS && name != nullptr && text != nullptr)
    return strf("%s: %s (%s)", function, name, text);
  return strf("%s: error %d", function, static_cast<int>(result));
}

}  // namespace tern::cuda
