// SPDX-License-Identifier: Apache-2.0
// Accesses to multicast addresses (PTX multimem, sm_90), each with a host version as in ptx.cuh. A
// load returns the reduction of all devices' memory, computed by the switch; a store reaches all
// devices. Addresses are multiples of 16. Mixing multicast and own addresses also needs
// ptx::fence_alias().
#pragma once

#include "cuda/kernels/reduce.cuh"

namespace tern::cuda {
namespace {

#if defined(__CUDACC__)
#if __CUDA_ARCH__ >= 900

#define TERN_MULTIMEM_kWhole(instruction)                                                      \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " {%0, %1, %2, %3}, [%4];" \
               : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]),             \
                 "=r"(value.words[3])                                                          \
               : "l"(from)                                                                     \
               : "memory");
#define TERN_MULTIMEM_kWords(instruction)                                          \
  TERN_UNROLL                                                                      \
  for (int i = 0; i < 4; ++i)                                                      \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];" \
                 : "=r"(value.words[i])                                            \
                 : "l"(from->words + i)                                            \
                 : "memory");
#define TERN_MULTIMEM_kHalves(instruction)                                         \
  TERN_UNROLL                                                                      \
  for (int i = 0; i < 4; i += 2) {                                                 \
    uint64_t half;                                                                 \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];" \
                 : "=l"(half)                                                      \
                 : "l"(from->words + i)                                            \
                 : "memory");                                                      \
    value.words[i] = static_cast<uint32_t>(half);                                  \
    value.words[i + 1] = static_cast<uint32_t>(half >> 32);                        \
  }
TERN_DEVICE Vector multimem_reduce(int32_t reduction, const Vector* from) {
  Vector value{};
  switch (static_cast<MultimemReduction>(reduction)) {
#define TERN_CASE(suffix, type, operation, form, instruction) \
  case MultimemReduction::suffix##_##operation:               \
    TERN_MULTIMEM_##form(instruction) break;
    TERN_MULTIMEM_REDUCTIONS(TERN_CASE)
#undef TERN_CASE
    case MultimemReduction::kCount:
      break;
  }
  return value;
}
TERN_DEVICE void multimem_store(Vector* to, const Vector& value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to),
               "r"(value.words[0]), "r"(value.words[1]), "r"(value.words[2]), "r"(value.words[3])
               : "memory");
}
/// A reader of the signal sees all that this thread, or before a barrier its block, has seen.
TERN_DEVICE void multimem_signal(uint32_t* word, uint32_t value) {
  ptx::fence_system();
  asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

#else

// Teams on older devices have no multicast memory, so no caller reaches these functions.
TERN_DEVICE Vector multimem_reduce(int32_t /*reduction*/, const Vector* /*from*/) { return {}; }
TERN_DEVICE void multimem_store(Vector* /*to*/, const Vector& /*value*/) {}
TERN_DEVICE void multimem_signal(uint32_t* /*word*/, uint32_t /*value*/) {}

#endif
#else

template <class Vectors>
Vector multimem_one(const Vectors* from) {
  uint64_t halves[2];
  const auto* const words = reinterpret_cast<const uint64_t*>(from);
  for (int i = 0; i < 2; ++i) halves[i] = __atomic_load_n(words + i, __ATOMIC_RELAXED);
  Vector value;
  __builtin_memcpy(&value, halves, sizeof value);
  return value;
}
template <class T, class Operation>
Vector multimem_lanes(const softcuda::Copies& copies) {
  Vector result = multimem_one(static_cast<const Vector*>(copies.at[0]));
  for (int i = 1; i < copies.count; ++i)
    result =
        apply_lanes<T, Operation>(result, multimem_one(static_cast<const Vector*>(copies.at[i])));
  return result;
}
/// The sum is rounded once.
template <class Format>
Vector multimem_sum_of_shorts(const softcuda::Copies& copies) {
  float sums[8] = {};
  for (int i = 0; i < copies.count; ++i) {
    Lanes<uint16_t> one;
    one.whole = multimem_one(static_cast<const Vector*>(copies.at[i]));
    for (int j = 0; j < 8; ++j) sums[j] += Format::widen(one.lanes[j]);
  }
  Lanes<uint16_t> result;
  for (int j = 0; j < 8; ++j) result.lanes[j] = Format::narrow(sums[j]);
  return result.whole;
}
inline Vector multimem_reduce(int32_t reduction, const Vector* from) {
  const softcuda::Copies copies = softcuda::copies_behind(from);
  switch (static_cast<MultimemReduction>(reduction)) {
    case MultimemReduction::f16_Sum:
      return multimem_sum_of_shorts<DeviceHalfFormat>(copies);
    case MultimemReduction::bf16_Sum:
      return multimem_sum_of_shorts<DeviceBfloat16Format>(copies);
    default:
      break;
  }
#define TERN_CASE(suffix, type, operation, ...)                                             \
  if (static_cast<MultimemReduction>(reduction) == MultimemReduction::suffix##_##operation) \
    return multimem_lanes<type, operation>(copies);
  TERN_MULTIMEM_REDUCTIONS(TERN_CASE)
#undef TERN_CASE
  return {};
}
inline void multimem_store(Vector* to, const Vector& value) {
  const softcuda::Copies copies = softcuda::copies_behind(to);
  for (int i = 0; i < copies.count; ++i) {
    if (softcuda::is_weak(copies.at[i])) {
      softcuda::block_memory().store(copies.at[i], &value, sizeof value);
      continue;
    }
    uint64_t halves[2];
    __builtin_memcpy(halves, &value, sizeof value);
    auto* const words = static_cast<uint64_t*>(copies.at[i]);
    for (int j = 0; j < 2; ++j) __atomic_store_n(words + j, halves[j], __ATOMIC_RELAXED);
  }
}
inline void multimem_signal(uint32_t* word, uint32_t value) {
  const softcuda::Copies copies = softcuda::copies_behind(word);
  softcuda::block_memory().drain();
  for (int i = 0; i < copies.count; ++i)
    __atomic_store_n(static_cast<uint32_t*>(copies.at[i]), value, __ATOMIC_RELEASE);
}

#endif

}  // namespace
}  // namespace tern::cuda
