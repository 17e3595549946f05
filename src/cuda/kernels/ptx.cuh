// SPDX-License-Identifier: Apache-2.0
// All PTX instructions of the kernels, each with a host version for tests.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/half.hpp"
#include "cuda/kernels/device.cuh"

namespace tern::ptx {

#if defined(__CUDACC__)

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
/// Loads 16 bytes at any alignment from five words, and drops up to three bytes before and behind.
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
/// Orders this thread's earlier writes before its later writes, for the host and all devices.
TERN_DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
TERN_DEVICE void store_release_system(uint32_t* word, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
TERN_DEVICE uint32_t load_acquire_system(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
/// Relaxed accesses are whole, but not ordered with others.
TERN_DEVICE void store_relaxed_system(uint32_t* word, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
TERN_DEVICE void store_relaxed_system(uint64_t* word, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
TERN_DEVICE uint32_t load_relaxed_system(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
TERN_DEVICE uint64_t load_relaxed_system(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
/// store_peer() and load_peer() move 16 aligned bytes of memory shared with another device, by
/// plain accesses. Before a release and an acquire, halves may appear in any order.
template <class Vector>
TERN_DEVICE void store_peer(Vector* to, const Vector& value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.words[0]),
               "r"(value.words[1]), "r"(value.words[2]), "r"(value.words[3])
               : "memory");
}
template <class Vector>
TERN_DEVICE Vector load_peer(const Vector* from) {
  Vector value;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]),
                 "=r"(value.words[3])
               : "l"(from)
               : "memory");
  return value;
}
/// Packets of 128 bytes (LL128). All threads of a warp store or load 16 bytes each: four packets.
/// The last 8 bytes of a packet vouch for the rest without a fence, because the GPU makes a single
/// access, which L2 and NVLink move whole. PTX guarantees this only for 8 bytes; NCCL relies on
/// devices from sm_70 on. PCIe, C2C and host memory may split packets. Volatile bypasses the L1
/// cache and keeps each access single. The warp synchronizes first, because diverged threads would
/// make several accesses.
template <class Vector>
TERN_DEVICE void store_line(Vector* to, const Vector& value) {
  __syncwarp();
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.words[0]),
               "r"(value.words[1]), "r"(value.words[2]), "r"(value.words[3])
               : "memory");
}
template <class Vector>
TERN_DEVICE Vector load_line(const Vector* from) {
  Vector value;
  __syncwarp();
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]),
                 "=r"(value.words[3])
               : "l"(from)
               : "memory");
  return value;
}
/// fence_alias() orders accesses of the same memory through two addresses, in addition to other
/// ordering.
TERN_DEVICE void fence_alias() { asm volatile("fence.proxy.alias;" ::: "memory"); }
/// A reader of the signal sees all that this thread, or before a barrier its block, has seen. Each
/// word has a single writer. PTX, release pattern: a fence and a later relaxed store. Causality
/// order passes through barriers, so other threads need no fence.
TERN_DEVICE void signal_system(uint32_t* word, uint32_t value) {
  fence_system();
  store_relaxed_system(word, value);
}
/// A flag behind fence_system(), and a look at a flag before fence_system().
TERN_DEVICE void store_behind_fence(uint64_t* word, uint64_t value) {
  store_relaxed_system(word, value);
}
TERN_DEVICE uint64_t load_before_fence(const uint64_t* word) { return load_relaxed_system(word); }
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
  asm("" : "+r"(from));  // keeps g++ 12 from merging loads into an aligned load
  Vector value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
// With SOFTCUDA_WEAK, unordered stores appear out of order (tests/softcuda/shim/weak.hpp).
TERN_DEVICE void fence_system() { __threadfence_system(); }
TERN_DEVICE void store_release_system(uint32_t* word, uint32_t value) {
  softcuda::block_memory().drain();
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
TERN_DEVICE uint32_t load_acquire_system(const uint32_t* word) {
  softcuda::block_memory().settle(word);
  const uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  softcuda::block_memory().forget();
  return value;
}
template <class Word>
TERN_DEVICE void store_relaxed_system(Word* word, Word value) {
  if (softcuda::is_weak(word))
    softcuda::block_memory().store(word, &value, sizeof value);
  else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
template <class Word>
TERN_DEVICE Word load_relaxed_system(const Word* word) {
  softcuda::block_memory().settle(word);
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
template <class Vector>
TERN_DEVICE void store_peer(Vector* to, const Vector& value) {
  if (softcuda::is_weak(to))
    softcuda::block_memory().store(to, &value, sizeof value);
  else
    *to = value;
}
template <class Vector>
TERN_DEVICE Vector load_peer(const Vector* from) {
  if (!softcuda::is_weak(from)) return *from;
  Vector value;
  softcuda::block_memory().load(&value, from, sizeof value);
  return value;
}
template <class Vector>
TERN_DEVICE void store_piece(Vector* to, const Vector& value) {
  uint64_t halves[2];
  __builtin_memcpy(halves, &value, sizeof value);
  if (softcuda::is_weak(to)) return softcuda::block_memory().store(to, halves, sizeof halves, true);
  auto* const words = reinterpret_cast<uint64_t*>(to);
  for (int i = 0; i < 2; ++i) __atomic_store_n(words + i, halves[i], __ATOMIC_RELEASE);
}
template <class Vector>
TERN_DEVICE Vector load_piece(const Vector* from) {
  const auto* const words = reinterpret_cast<const uint64_t*>(from);
  uint64_t halves[2];
  for (int i = 1; i >= 0; --i) {
    softcuda::block_memory().settle(words + i);
    halves[i] = __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
  }
  Vector value;
  __builtin_memcpy(&value, halves, sizeof value);
  return value;
}
// A single thread acts for the eight of a packet: the last bytes are stored last and loaded first.
template <class Vector>
TERN_DEVICE void store_line(Vector* to, const Vector& value) {
  auto* const pieces = static_cast<Vector*>(softcuda::warp_pieces());
  const int lane = softcuda::lane();
  pieces[lane] = value;
  __syncwarp();
  for (int i = 7; i >= 0 && lane % 8 == 7; --i) store_piece(to - i, pieces[lane - i]);
  __syncwarp();
}
template <class Vector>
TERN_DEVICE Vector load_line(const Vector* from) {
  auto* const pieces = static_cast<Vector*>(softcuda::warp_pieces());
  const int lane = softcuda::lane();
  for (int i = 0; i < 8 && lane % 8 == 7; ++i) pieces[lane - i] = load_piece(from - i);
  __syncwarp();
  const Vector value = pieces[lane];
  __syncwarp();
  return value;
}
TERN_DEVICE void fence_alias() {}
// The host uses a release store instead of fence and store, because TSan does not model fences.
TERN_DEVICE void signal_system(uint32_t* word, uint32_t value) {
  store_release_system(word, value);
}
TERN_DEVICE void store_behind_fence(uint64_t* word, uint64_t value) {
  if (softcuda::is_weak(word)) return store_relaxed_system(word, value);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
TERN_DEVICE uint64_t load_before_fence(const uint64_t* word) {
  softcuda::block_memory().settle(word);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
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
