// SPDX-License-Identifier: Apache-2.0
// The reduction loops, written once; included by one file per instruction set, which defines TERN_REDUCE_TABLE.
// Everything has internal linkage and nothing of the standard library is called: a function compiled for a newer
// processor must never be shared with code that runs on an older one. This is why it has no include guard.
// inout[i] = in[i] (op) inout[i]. The loops vectorise: check with objdump that they do.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/reduce/half.hpp"
#include "core/reduce/table.hpp"

namespace tern::core::reduce {
namespace {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Quad;
#elif defined(__LDBL_MANT_DIG__) && __LDBL_MANT_DIG__ == 113
typedef long double Quad;
#else
#define TERN_NO_QUAD 1
#endif
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

enum class Class { kNone, kInteger, kLogical, kBits, kFloat, kComplex, kPair };

template <Class kOf, class T>
struct Type {
  static constexpr Class kClass = kOf;
  using Value = T;
};
template <Number kNumber>
struct TypeOf : Type<Class::kNone, char> {};

#define TERN_NUMBER(number, of, ...) \
  template <>                        \
  struct TypeOf<Number::number> : Type<Class::of, __VA_ARGS__> {};
TERN_NUMBER(kInt8, kInteger, int8_t)
TERN_NUMBER(kUint8, kInteger, uint8_t)
TERN_NUMBER(kInt16, kInteger, int16_t)
TERN_NUMBER(kUint16, kInteger, uint16_t)
TERN_NUMBER(kInt32, kInteger, int32_t)
TERN_NUMBER(kUint32, kInteger, uint32_t)
TERN_NUMBER(kInt64, kInteger, int64_t)
TERN_NUMBER(kUint64, kInteger, uint64_t)
TERN_NUMBER(kInt128, kInteger, Int128)
TERN_NUMBER(kHalf, kFloat, Half)
TERN_NUMBER(kFloat, kFloat, float)
TERN_NUMBER(kDouble, kFloat, double)
TERN_NUMBER(kLongDouble, kFloat, long double)
TERN_NUMBER(kComplexHalf, kComplex, Half)
TERN_NUMBER(kComplexFloat, kComplex, float)
TERN_NUMBER(kComplexDouble, kComplex, double)
TERN_NUMBER(kComplexLongDouble, kComplex, long double)
#if !defined(TERN_NO_QUAD)
TERN_NUMBER(kQuad, kFloat, Quad)
TERN_NUMBER(kComplexQuad, kComplex, Quad)
#endif
TERN_NUMBER(kBool, kLogical, uint8_t)
TERN_NUMBER(kLogical8, kLogical, uint8_t)
TERN_NUMBER(kLogical16, kLogical, uint16_t)
TERN_NUMBER(kLogical32, kLogical, uint32_t)
TERN_NUMBER(kLogical64, kLogical, uint64_t)
TERN_NUMBER(kLogical128, kLogical, Uint128)
TERN_NUMBER(kByte, kBits, uint8_t)
TERN_NUMBER(kFloatInt, kPair, Pair<float, int>)
TERN_NUMBER(kDoubleInt, kPair, Pair<double, int>)
TERN_NUMBER(kLongInt, kPair, Pair<long, int>)
TERN_NUMBER(kIntInt, kPair, Pair<int, int>)
TERN_NUMBER(kShortInt, kPair, Pair<short, int>)
TERN_NUMBER(kLongDoubleInt, kPair, Pair<long double, int>)
TERN_NUMBER(kFloatFloat, kPair, Pair<float, float>)
TERN_NUMBER(kDoubleDouble, kPair, Pair<double, double>)
#undef TERN_NUMBER

/// The type in which integers are summed and multiplied: unsigned, so that overflow wraps.
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
  static T apply(T a, T b) noexcept {
    return static_cast<T>(Wide<T>(a) + Wide<T>(b));
  }
};
struct Prod {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(Wide<T>(a) * Wide<T>(b));
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) noexcept {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) noexcept {
    return a > b ? a : b;
  }
};
struct Band {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};
struct Land {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct Lor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct Lxor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct Minloc {
  template <class P>
  static P apply(P a, P b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value < b.value ? a : b;
  }
};
struct Maxloc {
  template <class P>
  static P apply(P a, P b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value > b.value ? a : b;
  }
};

template <class Operation, class T>
void each(const void* in, void* inout, size_t count) noexcept {
  const T* __restrict a = static_cast<const T*>(in);
  T* __restrict b = static_cast<T*>(inout);
  for (size_t i = 0; i < count; ++i) b[i] = Operation::apply(a[i], b[i]);
}
/// A sum of complex numbers is a sum of twice as many real ones.
template <class T>
void complex_sum(const void* in, void* inout, size_t count) noexcept {
  each<Sum, T>(in, inout, 2 * count);
}
template <class T>
void complex_prod(const void* in, void* inout, size_t count) noexcept {
  const Complex<T>* __restrict a = static_cast<const Complex<T>*>(in);
  Complex<T>* __restrict b = static_cast<Complex<T>*>(inout);
  for (size_t i = 0; i < count; ++i) {
    const Complex<T> x = a[i], y = b[i];
    b[i] = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
}
template <size_t kBytes>
void replace(const void* in, void* inout, size_t count) noexcept {
  __builtin_memcpy(inout, in, count * kBytes);
}
void keep(const void*, void*, size_t) noexcept {}

/// Bytes from one element of a number to the next in memory.
template <Number kNumber>
constexpr size_t bytes_of() {
  using Value = typename TypeOf<kNumber>::Value;
  switch (kNumber) {
    case Number::kText8:
      return 1;
    case Number::kText32:
      return 4;
    case Number::kQuad:
      return 16;
    case Number::kComplexQuad:
      return 32;
    default:
      return TypeOf<kNumber>::kClass == Class::kComplex ? 2 * sizeof(Value) : sizeof(Value);
  }
}

template <Row kRow>
struct OperationOf;
#define TERN_OPERATION(row, operation, allowed)              \
  template <>                                                \
  struct OperationOf<Row::row> {                             \
    using Type = operation;                                  \
    static constexpr bool takes(Class c) { return allowed; } \
  };
TERN_OPERATION(kSum, Sum, c == Class::kInteger || c == Class::kFloat)
TERN_OPERATION(kProd, Prod, c == Class::kInteger || c == Class::kFloat)
TERN_OPERATION(kMin, Min, c == Class::kInteger || c == Class::kFloat)
TERN_OPERATION(kMax, Max, c == Class::kInteger || c == Class::kFloat)
TERN_OPERATION(kBand, Band, c == Class::kInteger || c == Class::kBits)
TERN_OPERATION(kBor, Bor, c == Class::kInteger || c == Class::kBits)
TERN_OPERATION(kBxor, Bxor, c == Class::kInteger || c == Class::kBits)
TERN_OPERATION(kLand, Land, c == Class::kInteger || c == Class::kLogical)
TERN_OPERATION(kLor, Lor, c == Class::kInteger || c == Class::kLogical)
TERN_OPERATION(kLxor, Lxor, c == Class::kInteger || c == Class::kLogical)
TERN_OPERATION(kMinloc, Minloc, c == Class::kPair)
TERN_OPERATION(kMaxloc, Maxloc, c == Class::kPair)
#undef TERN_OPERATION

template <Row kRow, Number kNumber>
constexpr Op::Loop loop_for() {
  using Value = typename TypeOf<kNumber>::Value;
  constexpr Class kOf = TypeOf<kNumber>::kClass;
  if constexpr (kNumber == Number::kNone) {
    return nullptr;
  } else if constexpr (kRow == Row::kReplace) {
    return replace<bytes_of<kNumber>()>;
  } else if constexpr (kRow == Row::kNoOp) {
    return keep;
  } else if constexpr (kOf == Class::kComplex && kRow == Row::kSum) {
    return complex_sum<Value>;
  } else if constexpr (kOf == Class::kComplex && kRow == Row::kProd) {
    return complex_prod<Value>;
  } else if constexpr (OperationOf<kRow>::takes(kOf)) {
    return each<typename OperationOf<kRow>::Type, Value>;
  } else {
    return nullptr;
  }
}

template <int... kCells>
constexpr Table make_table(std::integer_sequence<int, kCells...>) {
  return {
      {loop_for<static_cast<Row>(kCells / kColumns), static_cast<Number>(kCells % kColumns)>()...}};
}

}  // namespace

extern constexpr Table TERN_REDUCE_TABLE =
    make_table(std::make_integer_sequence<int, kRows * kColumns>{});

}  // namespace tern::core::reduce
