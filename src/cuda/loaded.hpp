// SPDX-License-Identifier: Apache-2.0
// Whether the dynamic linker has loaded anything since libcuda was last looked for.
// Why: a program may load libcuda at any time, and each address that may be a device's asks; the
// linker itself (dl_iterate_phdr) takes a quarter of a small message to answer.
// How: the linker appends what it loads to a list, whose entries are public (<link.h>). The entry
// looked at is of a library of our own, which holds nothing and is loaded last: it cannot be
// unloaded while another thread looks, and has a successor as soon as anything was loaded after it.
// Lifetime: the process. Threads: any.
// Cost: two loads and a compare; a new entry, some 50 us, where something was loaded meanwhile.
// See: tests/unit/cuda/loaded_test.cc, tests/gpu/mpi/driver_loaded_after_init.cc.
#pragma once

#include <link.h>

#include <atomic>

namespace tern::cuda {

/// An entry of the linker's list that was its last one. Its successor is read while the linker may
/// write it: a word, which another thread's load makes visible with whatever tells of that load.
class LastLoaded {
 public:
  [[nodiscard]] bool still() const noexcept {
    return __atomic_load_n(&at_.load(std::memory_order_acquire)->l_next, __ATOMIC_RELAXED) ==
           nullptr;
  }
  void look_at(const link_map& entry) noexcept { at_.store(&entry, std::memory_order_release); }
  /// As if something had just been loaded.
  void doubt() noexcept { look_at(kDoubt); }
  /// As if nothing were ever loaded.
  void trust() noexcept { look_at(kTrust); }

 private:
  static const link_map kDoubt, kTrust;
  std::atomic<const link_map*> at_{&kDoubt};
};

/// Nothing was loaded, and the driver was not there when this was found out: there is no device
/// memory.
extern constinit LastLoaded no_driver_since;

/// Loads an empty library and gives its entry; null where it is not the last, where this does not
/// work (no descriptor, no /proc), and after some dozen times: each stays loaded.
[[nodiscard]] const link_map* load_last() noexcept;

}  // namespace tern::cuda
