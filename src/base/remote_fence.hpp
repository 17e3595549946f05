// SPDX-License-Identifier: Apache-2.0
// Remote fence: a memory fence that one process sets in all others (Linux, membarrier(2)).
// Why: "store, then load" on both sides of a bell needs a fence on both sides. The side that sleeps
// pays for both, so that the side that sends pays nothing. Threads: any.
#pragma once

namespace tern {

/// Whether remote_fence() of other processes reaches this one. The first call registers the
/// process: microseconds while it has one thread; with several it registers nothing, for that takes
/// 20 ms.
bool heeds_remote_fences() noexcept;

/// Every running thread of each process that heeds it passes a full fence during this call. False
/// where the kernel refuses.
bool remote_fence() noexcept;

}  // namespace tern
