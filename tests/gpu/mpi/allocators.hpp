// SPDX-License-Identifier: Apache-2.0
// The allocators of CUDA programs, and the software driver's control functions.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "memory.hpp"
#include "tests/softcuda/user_functions.hpp"

namespace tern::test {

/// Control functions of tests/softcuda/control.h are null on a real driver.
struct Control {
  void (*fault)(const char*) = nullptr;
  unsigned long long (*calls)(const char*) = nullptr;
  const char* (*function)(unsigned) = nullptr;
  long long (*live)(const char*) = nullptr;
  unsigned long long (*calls_of_kind)(const char*) = nullptr;
  unsigned long long (*starts)(const char*) = nullptr;
  double (*modelled)(const char*) = nullptr;
  [[nodiscard]] bool there() const { return live != nullptr; }
  [[nodiscard]] unsigned long long all_calls() const {
    unsigned long long sum = 0;
    for (unsigned i = 0; function(i) != nullptr; ++i) sum += calls(function(i));
    return sum;
  }
};

inline const Control& control() {
  static const Control found = [] {
    Control one;
    const auto look = [](const char* name, auto& place) {
      place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(dlsym(RTLD_DEFAULT, name));
    };
    look("softcuda_fault", one.fault);
    look("softcuda_calls", one.calls);
    look("softcuda_function", one.function);
    look("softcuda_live", one.live);
    look("softcuda_calls_of_kind", one.calls_of_kind);
    look("softcuda_starts", one.starts);
    look("softcuda_modelled", one.modelled);
    return one;
  }();
  return found;
}

inline const char* const kLive[] = {"allocations", "streams", "events",    "imports", "mappings",
                                    "handles",     "pools",   "libraries", "host"};
inline std::vector<long long> alive() {
  std::vector<long long> counts;
  for (const char* kind : kLive) counts.push_back(control().there() ? control().live(kind) : 0);
  return counts;
}
inline void check_alive(const std::vector<long long>& before) {
  const auto now = alive();
  for (size_t i = 0; i < now.size(); ++i)
    if (now[i] != before[i]) {
      std::fprintf(stderr, "[rank %d] %lld %s are alive after MPI_Finalize, expected %lld\n", rank,
                   now[i], kLive[i], before[i]);
      _exit(1);
    }
}

/// Ranks 0 and 1 exchange a message to settle their contexts' pending work, so later messages share
/// memory at once.
inline void settle_contexts() {
  if (rank > 1) return;
  const Area out = mapped(64, 1, kFd, kFd), in = mapped(64, 1, kFd, kFd);
  OK(MPI_Sendrecv(out.address(), 64, MPI_BYTE, 1 - rank, 99, in.address(), 64, MPI_BYTE, 1 - rank,
                  99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

struct Allocator {
  const char* name;
  Area (*make)(size_t bytes);
};
inline const Allocator kAllocators[] = {
    {"cudaMalloc", plain},
    {"managed", managed},
    {"default pool", default_pool},
    {"exportable pool", exportable_pool},
    {"cuMemCreate", [](size_t bytes) { return mapped(bytes, 1, kFd, kFd); }},
    {"cuMemCreate, not exportable", [](size_t bytes) { return mapped(bytes, 1, kNone, kNone); }},
    {"several mappings", [](size_t bytes) { return mapped(bytes, 3, kFd, kFd); }},
    {"several mappings, one not exportable",
     [](size_t bytes) { return mapped(bytes, 3, kFd, kNone); }},
};

}  // namespace tern::test
