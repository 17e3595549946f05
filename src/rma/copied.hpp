// SPDX-License-Identifier: Apache-2.0
// Copied: a window's way to memory of another process of this host that this one does not map: the
// kernel copies (process_vm_readv and writev), on the origin's own time.
// Why: memory of MPI_Win_create is the program's own, and its owner may compute for long.
// Limits: the kernel must permit it, which is tried when a window is made; memory of devices and
// its like is refused. Threads: any. See: rma/create.cc, tests/mpi/rma_copied_refused.c.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "core/device_copy.hpp"

namespace tern::rma {

struct Place;

/// A word of a rank by which others find out whether they may copy; it stays as it is.
struct Probe {
  int32_t pid = 0;
  uint64_t address = 0, word = 0;
};
/// Reads and writes it: 0, or an errno.
[[nodiscard]] int try_copies(const Probe& probe) noexcept;
/// Whether the kernel copies this memory of the own process: 0, or an errno.
[[nodiscard]] int try_own_memory(const void* memory, size_t bytes) noexcept;

/// Between data here, of any memory, and elements at an address of another process. 0, or an error
/// class with fail() text; throws std::bad_alloc.
[[nodiscard]] int copy_there(core::Process& process, const core::Data& from, const Place& to,
                             std::byte* address, int32_t pid);
[[nodiscard]] int copy_from_there(core::Process& process, const Place& from, std::byte* address,
                                  int32_t pid, const core::Data& to);

[[nodiscard]] TERN_COLD int fail_copy(int32_t pid, int error) noexcept;

}  // namespace tern::rma
