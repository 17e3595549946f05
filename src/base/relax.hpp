// SPDX-License-Identifier: Apache-2.0
// relax: in a loop that waits for another core's write.
// Why: it leaves the core's other hardware thread its share, and the loop ends without the penalty
// of a misread order of memory. Threads: any.
#pragma once

namespace tern {

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tern
