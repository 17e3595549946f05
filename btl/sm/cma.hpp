// SPDX-License-Identifier: Apache-2.0
// Cma: copies between the memory of two processes (process_vm_readv and writev).
// Limits: 1,024 pieces and 0x7ffff000 bytes per call. Kernel permission (Yama, seccomp, containers)
// is found by trying. Threads: any.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace tern::btl::sm {

[[nodiscard]] int cma_get(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
                          size_t remotes) noexcept;
[[nodiscard]] int cma_put(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
                          size_t remotes) noexcept;
[[nodiscard]] int cma_probe(pid_t pid, const void* address, unsigned long expected) noexcept;
[[nodiscard]] const char* cma_cure() noexcept;
/// cma_allow() permits copies by the launcher's tree under Yama.
void cma_allow(pid_t launcher) noexcept;

}  // namespace tern::btl::sm
