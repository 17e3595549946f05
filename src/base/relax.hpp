// SPDX-License-Identifier: Apache-2.0
// relax: a pause in a spin loop; spares the other hardware thread. Threads: any.
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
