// SPDX-License-Identifier: Apache-2.0
// LastLoaded: whether the dynamic linker has loaded a library since the last search for libcuda.
// Why: a program may load libcuda at any time, and every buffer needs the answer. dl_iterate_phdr
// costs a quarter of a small message.
// How: the linker appends libraries to a public list (<link.h>). Tern loads an empty library last
// and watches its entry: the entry stays loaded, and gets a successor at the next load.
// Lifetime: the process. Threads: any.
// Cost: two loads and a compare; some 50 us for a new entry after another library was loaded.
#pragma once

#include <link.h>

#include <atomic>

namespace tern::cuda {

/// Watches the last entry of the linker's list. The linker may write the successor meanwhile: a
/// single word, visible to a thread no later than any sign of the load.
class LastLoaded {
 public:
  [[nodiscard]] bool still() const noexcept {
    return __atomic_load_n(&at_.load(std::memory_order_acquire)->l_next, __ATOMIC_RELAXED) ==
           nullptr;
  }
  void look_at(const link_map& entry) noexcept { at_.store(&entry, std::memory_order_release); }
  void doubt() noexcept { look_at(kDoubt); }
  void trust() noexcept { look_at(kTrust); }

 private:
  static const link_map kDoubt, kTrust;
  std::atomic<const link_map*> at_{&kDoubt};
};

/// While still() holds, libcuda is not loaded, and no device memory exists.
extern constinit LastLoaded no_driver_since;

/// Loads an empty library and returns its entry. Returns null if another library came later, on
/// failure (no descriptor, no /proc), and after 16 loads, because each stays loaded.
[[nodiscard]] const link_map* load_last() noexcept;

}  // namespace tern::cuda
