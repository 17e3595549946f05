// SPDX-License-Identifier: Apache-2.0
// Arithmetic of predefined operations, shared by host loops and device kernels: apply(a, b) is a
// (op) b. All functions have internal linkage and avoid the standard library: code for a newer
// processor must never be shared with code for an older one. core/reduce/loops.inc and
// cuda/kernels/reduce.cu use the functors.
#pragma once

#include <cstdint>

#include "base/device.hpp"

namespace tern {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

template <class T>
struct Complex {
  T re, im;
};
template <class V, class I>
struct Pair {
  V value;
  I index;
};

/// Integers are computed unsigned, so overflow wraps.
template <class T>
struct Wrapping {
  using Wide = T;
};
template <>
struct Wrapping<int8_t> {
  using Wide = uint32_t;
};
template <>
struct Wrapping<uint8_t> {
  using Wide = uint32_t;
};
template <>
struct Wrapping<int16_t> {
  using Wide = uint32_t;
};
template <>
struct Wrapping<uint16_t> {
  using Wide = uint32_t;
};
template <>
struct Wrapping<int32_t> {
  using Wide = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using Wide = uint64_t;
};
template <>
struct Wrapping<Int128> {
  using Wide = Uint128;
};
template <class T>
using Wide = typename Wrapping<T>::Wide;

struct Sum {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>(Wide<T>(a) + Wide<T>(b));
  }
};
struct Prod {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>(Wide<T>(a) * Wide<T>(b));
  }
};
struct Min {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return a > b ? a : b;
  }
};
struct Band {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};
struct Land {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct Lor {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct Lxor {
  template <class T>
  TERN_DEVICE static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct Minloc {
  template <class P>
  TERN_DEVICE static P apply(P a, P b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value < b.value ? a : b;
  }
};
struct Maxloc {
  template <class P>
  TERN_DEVICE static P apply(P a, P b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value > b.value ? a : b;
  }
};

struct ComplexProd {
  template <class C>
  TERN_DEVICE static C apply(C x, C y) noexcept {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
};

}  // namespace
}  // namespace tern
