// SPDX-License-Identifier: Apache-2.0
// All instructions of PTX that the kernels name, each with its twin for the host.
// Why: what C++ has no word for stands in one place, and the tests run the twin.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/half.hpp"
#include "cuda/kernels/device.cuh"

namespace tern::ptx {

#if defined(__CUDA_ARCH__)

TERN_DEVICE float widen_half(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
/// Rounds to nearest even. A NaN becomes 0x7fff.
TERN_DEVICE uint16_t narrow_half(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
TERN_DEVICE uint16_t narrow_bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return Bfloat16Format::narrow(value);
#endif
}
/// 16 bytes from an address of any alignment: the five words that hold them, shifted. Those words
/// hold up to three bytes before and behind, which nothing is made of.
template <class Vector>
TERN_DEVICE Vector load_skewed(const char* from) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
  const unsigned bits = 8 * static_cast<unsigned>(address & 3U);
  uint32_t below = words[0];
  Vector value;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t above = words[i + (i < 3 || bits != 0 ? 1 : 0)];
    asm("shf.r.wrap.b32 %0, %1, %2, %3;"
        : "=r"(value.words[i])
        : "r"(below), "r"(above), "r"(bits));
    below = above;
  }
  return value;
}
/// What this thread wrote before is seen before what it writes afterwards, by the host and by all
/// devices.
TERN_DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
TERN_DEVICE void store_release_system(uint32_t* word, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
TERN_DEVICE uint32_t load_acquire_system(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
TERN_DEVICE void store_relaxed_system(uint32_t* word, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
/// What this thread has seen (behind a barrier: its block) is seen by who sees the word, which only
/// one writer signals.
TERN_DEVICE void signal_system(uint32_t* word, uint32_t value) {
  fence_system();
  store_relaxed_system(word, value);
}
/// Of a clock that all threads of a device share.
TERN_DEVICE uint64_t nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

#else

TERN_DEVICE float widen_half(uint16_t bits) { return HalfFormat::widen(bits); }
TERN_DEVICE uint16_t narrow_half(float value) { return HalfFormat::narrow(value); }
TERN_DEVICE uint16_t narrow_bfloat16(float value) { return Bfloat16Format::narrow(value); }
template <class Vector>
TERN_DEVICE Vector load_skewed(const char* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
TERN_DEVICE void fence_system() { __sync_synchronize(); }
TERN_DEVICE void store_release_system(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
TERN_DEVICE uint32_t load_acquire_system(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
TERN_DEVICE void store_relaxed_system(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
// One release store, not a fence and a store: TSan knows no fences.
TERN_DEVICE void signal_system(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
TERN_DEVICE uint64_t nanoseconds() {
#if defined(TERN_HOST_KERNELS)
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
#else
  return 0;
#endif
}

#endif

}  // namespace tern::ptx
