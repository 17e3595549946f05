// SPDX-License-Identifier: Apache-2.0
// Cma: copies straight between two processes' memory (process_vm_readv and writev).
// Why: one copy instead of two; no third party holds the bytes.
// Limits: 1,024 pieces and 0x7ffff000 bytes a call; kernel permission (Yama, seccomp, containers)
// is found by trying. Threads: any.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace tern::btl::sm {

/// All bytes of `local` from the process's `remote`: 0 or an errno. Repeats where the kernel copies
/// less.
[[nodiscard]] int cma_get(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
                          size_t remotes) noexcept;
[[nodiscard]] int cma_put(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
                          size_t remotes) noexcept;
/// Reads the word at `address` there: 0 when it is `expected`, else why it cannot be done (an
/// errno).
[[nodiscard]] int cma_probe(pid_t pid, const void* address, unsigned long expected) noexcept;
/// The cure for a refusal, as words for the user.
[[nodiscard]] const char* cma_cure() noexcept;
/// Lets the processes of the launcher's tree read this one's memory where Yama asks for it. No
/// effect elsewhere.
void cma_allow(pid_t launcher) noexcept;

}  // namespace tern::btl::sm
