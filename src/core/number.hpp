// SPDX-License-Identifier: Apache-2.0
// Number: what an element of a predefined type is to a reduction, whatever language gave it its
// name.
// Why: MPI_INT, MPI_INT32_T, MPI_INTEGER and MPI_INTEGER4 are one row of the table of loops.
// See: core/reduce/loops.inc (the C++ type of each), core/datatype_predefined.cc (which constant is
// which).
#pragma once

#include <cstdint>

namespace tern::core {

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
  kText32,  // characters and packed bytes: no arithmetic
  kCount,
};

}  // namespace tern::core
