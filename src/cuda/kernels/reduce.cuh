// SPDX-License-Identifier: Apache-2.0
// Reductions of up to 16 vectors by thread blocks, for reduce.cu and interpret.cuh.
// Order: fixed, so all ranks have the host's bits (NaN payloads excepted). Cost: reads n, writes 1;
// memory-bound.
// See: core/reduce/loops.inc.
#pragma once

#include "base/arithmetic.hpp"
#include "base/number.hpp"
#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

struct DeviceHalfFormat {
  TERN_DEVICE static float widen(uint16_t bits) { return ptx::widen_half(bits); }
  TERN_DEVICE static uint16_t narrow(float value) { return ptx::narrow_half(value); }
};
struct DeviceBfloat16Format {
  TERN_DEVICE static float widen(uint16_t bits) { return Bfloat16Format::widen(bits); }
  TERN_DEVICE static uint16_t narrow(float value) { return ptx::narrow_bfloat16(value); }
};
using DeviceHalf = Short<DeviceHalfFormat>;
using DeviceBfloat16 = Short<DeviceBfloat16Format>;

template <class Operation>
inline constexpr Reduction kName = Reduction::kNoOp;
#define TERN_NAME(operation, name) \
  template <>                      \
  inline constexpr Reduction kName<operation> = Reduction::name
TERN_NAME(Sum, kSum);
TERN_NAME(Prod, kProd);
TERN_NAME(ComplexProd, kProd);
TERN_NAME(Min, kMin);
TERN_NAME(Max, kMax);
TERN_NAME(Band, kBand);
TERN_NAME(Bor, kBor);
TERN_NAME(Bxor, kBxor);
TERN_NAME(Land, kLand);
TERN_NAME(Lor, kLor);
TERN_NAME(Lxor, kLxor);
TERN_NAME(Minloc, kMinloc);
TERN_NAME(Maxloc, kMaxloc);
#undef TERN_NAME

template <class T>
union Lanes {
  Vector whole;
  T lanes[sizeof(Vector) / sizeof(T)];
};

template <class T, class Operation>
TERN_DEVICE Vector apply_lanes(const Vector& a, const Vector& b) {
  Lanes<T> x, y;
  x.whole = a;
  y.whole = b;
  TERN_UNROLL
  for (unsigned i = 0; i < sizeof(Vector) / sizeof(T); ++i)
    y.lanes[i] = Operation::apply(x.lanes[i], y.lanes[i]);
  return y.whole;
}

template <int kVectors, class T, class First, class... Rest>
TERN_DEVICE void apply(int operation, const Vector* values, Vector* sums) {
  if (sizeof...(Rest) == 0 || operation == static_cast<int>(kName<First>)) {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j) sums[j] = apply_lanes<T, First>(values[j], sums[j]);
  } else if constexpr (sizeof...(Rest) != 0) {
    apply<kVectors, T, Rest...>(operation, values, sums);
  }
}

/// The vectors of a target: slot 0 is before the first 16-byte boundary; the others are whole
/// except the last.
struct Slots {
  int64_t bytes, head, count;

  TERN_DEVICE Slots(const char* target, int64_t size, int element) : bytes(size) {
    const int to_border = static_cast<int>(-reinterpret_cast<uintptr_t>(target) & 15U);
    head = to_border % element == 0 ? (to_border < bytes ? to_border : bytes) : 0;
    count = 1 + (bytes - head + 15) / 16;
  }
  [[nodiscard]] TERN_DEVICE int64_t begin(int64_t slot) const {
    return slot == 0 ? 0 : head + (slot - 1) * 16;
  }
  [[nodiscard]] TERN_DEVICE int64_t end(int64_t slot) const {
    const int64_t behind = head + slot * 16;
    return behind < bytes ? behind : bytes;
  }
};

/// Further targets of a result.
struct Others {
  void* const* at;
  int32_t count;

  template <class Store>
  TERN_DEVICE void each(int64_t begin, const Store& store) const {
    for (int k = 0; k < count; ++k) store(static_cast<char*>(DEV(at[k])) + begin);
  }
};

template <class T, class... Operations>
TERN_DEVICE void reduce_slot(const ReduceArguments& a, const Others& others, const Slots& slots,
                             int64_t slot) {
  const int64_t begin = slots.begin(slot);
  const int bytes = static_cast<int>(slots.end(slot) - begin);
  const auto at = [&](int k) { return static_cast<const char*>(DEV(a.sources[k])) + begin; };
  Vector sum = load_some(at(a.n - 1), bytes);
  for (int k = a.n - 2; k >= 0; --k) {
    const Vector value = load_some(at(k), bytes);
    apply<1, T, Operations...>(a.operation, &value, &sum);
  }
  store_some(static_cast<char*>(DEV(a.target)) + begin, sum, bytes);
  others.each(begin, [&](char* to) { store_some(to, sum, bytes); });
}

template <int kVectors, class T, class... Operations>
TERN_DEVICE void reduce_whole(const ReduceArguments& a, const Others& others, int64_t begin,
                              int64_t apart) {
  Vector sums[kVectors], values[kVectors];
  const auto at = [&](int k) { return static_cast<const char*>(DEV(a.sources[k])) + begin; };
  load_vectors(at(a.n - 1), apart, sums);
  for (int k = a.n - 2; k >= 0; --k) {
    load_vectors(at(k), apart, values);
    apply<kVectors, T, Operations...>(a.operation, values, sums);
  }
  store_vectors(static_cast<char*>(DEV(a.target)) + begin, apart, sums);
  others.each(begin, [&](char* to) { store_vectors(to, apart, sums); });
}

template <int kVectors, int kElement, class T, class... Operations>
TERN_DEVICE void reduce(const ReduceArguments& a, const Others& others, int64_t block,
                        int64_t blocks) {
  const Slots slots(static_cast<const char*>(DEV(a.target)), a.count * kElement, kElement);
  const int64_t threads = blockDim.x, step = kVectors * threads;
  for (int64_t first = block * step; first < slots.count; first += blocks * step) {
    const int64_t mine = first + threadIdx.x;
    if (first > 0 && slots.head + (first + step - 1) * 16 <= slots.bytes) {
      reduce_whole<kVectors, T, Operations...>(a, others, slots.begin(mine), threads * 16);
    } else {
      for (int64_t slot = mine; slot < first + step && slot < slots.count; slot += threads)
        if (slots.end(slot) > slots.begin(slot))
          reduce_slot<T, Operations...>(a, others, slots, slot);
    }
  }
}

/// Not inlined, because waiting kernels call reduce_alone() in several places. Wide elements
/// and single bytes use fewer vectors, because those kernels need registers for their state.
template <int kElement, class T, class... Operations>
TERN_DEVICE_CALL void reduce_alone(const ReduceArguments& a) {
  constexpr int kVectors = kElement > 4 ? 1 : kElement > 1 || sizeof(T) == 1 ? 2 : 4;
  reduce<kVectors, kElement, T, Operations...>(a, {nullptr, 0}, 0, 1);
}

enum class ReduceNumber : int32_t {
#define TERN_NAME_ONLY(suffix, ...) suffix,
  TERN_REDUCE_KERNELS(TERN_NAME_ONLY)
#undef TERN_NAME_ONLY
};

}  // namespace

#define COMMA ,
#define TERN_REDUCE_ELEMENT(suffix, ...) \
  (#suffix[1] == 'i' ? 1 : static_cast<int>(sizeof(__VA_ARGS__)))

}  // namespace tern::cuda
