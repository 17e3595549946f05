// SPDX-License-Identifier: Apache-2.0
// Number and Reduction: kinds of elements and operations.
// Why: MPI_INT, MPI_INT32_T, MPI_INTEGER and MPI_INTEGER4 share a row of the loop table and a
// kernel. See: core/datatype_predefined.cc (constants).
#pragma once

#include <cstdint>

namespace tern {

enum class Number : uint8_t {
  kNone,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kInt128,
  kHalf,
  kBfloat16,
  kFloat,
  kDouble,
  kLongDouble,
  kQuad,
  kComplexHalf,
  kComplexFloat,
  kComplexDouble,
  kComplexLongDouble,
  kComplexQuad,
  kBool,
  kLogical8,
  kLogical16,
  kLogical32,
  kLogical64,
  kLogical128,
  kByte,
  kFloatInt,
  kDoubleInt,
  kLongInt,
  kIntInt,
  kShortInt,
  kLongDoubleInt,
  kFloatFloat,
  kDoubleDouble,
  kText8,
  kText32,
  kCount,
};

[[nodiscard]] constexpr bool is_whole(Number number) noexcept {
  return (number >= Number::kInt8 && number <= Number::kInt128) ||
         (number >= Number::kBool && number <= Number::kByte);
}

enum class Reduction : uint8_t {
  kSum,
  kMin,
  kMax,
  kProd,
  kBand,
  kBor,
  kBxor,
  kLand,
  kLor,
  kLxor,
  kMinloc,
  kMaxloc,
  kReplace,
  kNoOp,
  kCount,
};

}  // namespace tern
