// SPDX-License-Identifier: Apache-2.0
// CUDA's built-ins for kernels on the host. This header precedes the kernels' sources. Threads: a
// grid runs on one system thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/softcuda/shim/grid.hpp"
#include "tests/softcuda/shim/weak.hpp"

#define TERN_HOST_KERNELS 1

namespace tern::softcuda {
enum Waits { alone, together };
template <class Arguments, void (*kKernel)(const Arguments&)>
void call(const void* parameter) {
  kKernel(*static_cast<const Arguments*>(parameter));
}
}  // namespace tern::softcuda

#define TERN_KERNEL(name, Arguments, threads, waits)                              \
  static void name(const Arguments& arguments);                                   \
  static const ::tern::softcuda::Registration name##_registration(                \
      {#name, sizeof(Arguments), 0, threads, ::tern::softcuda::waits},            \
      [](const void* given) { ::tern::softcuda::call<Arguments, name>(given); }); \
  static void name(const Arguments& arguments)
#define TERN_UNROLL
#define TERN_ROLLED
#define TERN_DEVICE_CALL [[maybe_unused]] static
#define DEV(p) ::tern::softcuda::translated(p)
#define TERN_SHARED(T, name) T* const name = static_cast<T*>(::tern::softcuda::here.shared)

#define threadIdx (::tern::softcuda::here.thread)
#define blockIdx (::tern::softcuda::here.block)
#define blockDim (::tern::softcuda::here.block_size)
#define gridDim (::tern::softcuda::here.grid_size)

static inline void spin_pause() { ::tern::softcuda::pause(); }
static inline void __syncthreads() { ::tern::softcuda::block_barrier(); }
static inline void __syncwarp(unsigned mask = ~0U) { ::tern::softcuda::warp_barrier(mask); }
static inline void __threadfence() { __sync_synchronize(); }
static inline void __threadfence_block() { __sync_synchronize(); }
static inline void __threadfence_system() {
  ::tern::softcuda::block_memory().drain();
  ::tern::softcuda::block_memory().forget();
  __sync_synchronize();
}

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int lane) {
  return ::tern::softcuda::exchanged(mask, value, lane);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int other) {
  return ::tern::softcuda::exchanged(mask, value, ::tern::softcuda::lane() ^ other);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, int by) {
  const int from = ::tern::softcuda::lane() + by;
  return ::tern::softcuda::exchanged(mask, value, from < 32 ? from : ::tern::softcuda::lane());
}
static inline int __any_sync(unsigned mask, int value) {
  return ::tern::softcuda::votes(mask, value) > 0;
}
static inline int __all_sync(unsigned mask, int value) {
  return ::tern::softcuda::votes(mask, !value) == 0;
}
template <class T>
static inline T atomicAdd(T* word, T value) {
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicExch(T* word, T value) {
  return __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicCAS(T* word, T expected, T value) {
  __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
static inline int __ffs(int word) { return __builtin_ffs(word); }
static inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}
