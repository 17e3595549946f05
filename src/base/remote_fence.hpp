// SPDX-License-Identifier: Apache-2.0
// Remote fence: a memory fence in all other processes (Linux, membarrier(2)). Why: the sleeper on a
// doorbell pays for its own and the senders' fences. Threads: any.
#pragma once

namespace tern {

/// Registers the process with the kernel: microseconds with one thread. With several threads the
/// kernel takes 20 ms, so the process stays unregistered.
bool heeds_remote_fences() noexcept;

/// Every running thread of registered processes passes a full fence. Returns false if the kernel
/// refuses.
bool remote_fence() noexcept;

}  // namespace tern
