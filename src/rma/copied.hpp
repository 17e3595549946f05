// SPDX-License-Identifier: Apache-2.0
// Copied: access to unmapped memory of another process on this host, by process_vm_readv and
// process_vm_writev on the origin's time. The kernel must permit the copy (tested at creation), and
// refuses device memory. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "core/device_copy.hpp"

namespace tern::rma {

struct TargetData;

/// A rank's constant word for trial accesses.
struct Probe {
  int32_t pid = 0;
  uint64_t address = 0, word = 0;
};
[[nodiscard]] int try_copies(const Probe& probe) noexcept;
/// Whether the kernel copies this process's memory. Like try_copies(), returns 0 or an errno.
[[nodiscard]] int try_own_memory(const void* memory, size_t bytes) noexcept;

/// copy_there() and copy_from_there() copy between local data in any memory and another process.
/// Return 0, or an error class with fail() text. Throw std::bad_alloc.
[[nodiscard]] int copy_there(core::Process& process, const core::Data& from, const TargetData& to,
                             std::byte* address, int32_t pid);
[[nodiscard]] int copy_from_there(core::Process& process, const TargetData& from,
                                  std::byte* address, int32_t pid, const core::Data& to);

[[nodiscard]] TERN_COLD int fail_copy(int32_t pid, int error) noexcept;

}  // namespace tern::rma
