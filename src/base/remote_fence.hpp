// SPDX-License-Identifier: Apache-2.0
// Remote fence: a memory fence executed in all other processes (Linux, membarrier(2)). Why: "store,
// then load" on both sides of a doorbell needs a fence on both sides; the sleeper pays for both,
// the sender for none. Threads: any.
#pragma once

namespace tern {

/// Whether remote_fence() of other processes reaches this process. The first call registers the
/// process with the kernel: microseconds with one thread. A process with several threads stays
/// unregistered: the kernel takes 20 ms then.
bool heeds_remote_fences() noexcept;

/// Every running thread of each registered process passes a full fence during this call. False if
/// the kernel refuses.
bool remote_fence() noexcept;

}  // namespace tern
