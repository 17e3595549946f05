// SPDX-License-Identifier: Apache-2.0
// relax: a pause in a spin loop. Why: leaves resources to the core's other hardware thread, and
// avoids a memory-order misprediction at the loop's end. Threads: any.
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
