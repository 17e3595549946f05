// SPDX-License-Identifier: Apache-2.0
// The table of predefined types, of the ABI and of mpix.h.
#include <complex>
#include <cwchar>

#include "core/datatype_build.hpp"
#include "core/process.hpp"
#include "mpix.h"

namespace tern::core {
namespace {

template <class T>
constexpr Number integer() {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  switch (sizeof(T)) {
    case 1:
      return kSigned ? Number::kInt8 : Number::kUint8;
    case 2:
      return kSigned ? Number::kInt16 : Number::kUint16;
    case 4:
      return kSigned ? Number::kInt32 : Number::kUint32;
    default:
      return kSigned ? Number::kInt64 : Number::kUint64;
  }
}

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class Value, class Index>
constexpr MPI_Aint index_place() {
  return (sizeof(Value) + alignof(Index) - 1) / alignof(Index) * alignof(Index);
}

struct PredefinedRow {
  MPI_Datatype constant;
  const char* name;
  MPI_Count size;
  int alignment;
  Number number;
  MPI_Aint index_place;
};

#define FIXED(constant, bytes, number) \
  { constant, #constant, bytes, bytes, Number::number, 0 }
#define NATIVE(constant, type, number) \
  { constant, #constant, sizeof(type), alignof(type), Number::number, 0 }
#define INTEGER(constant, type) \
  { constant, #constant, sizeof(type), alignof(type), integer<type>(), 0 }
#define COMPLEX(constant, bytes, number) \
  { constant, #constant, bytes, (bytes) / 2, Number::number, 0 }
#define PAIR(constant, value, index, number)                                         \
  {                                                                                  \
    constant, #constant, sizeof(value) + sizeof(index), alignof(Pair<value, index>), \
        Number::number, index_place<value, index>()                                  \
  }

/// Fortran's default INTEGER, REAL and LOGICAL have 4 bytes.
const PredefinedRow kRows[] = {
    INTEGER(MPI_AINT, MPI_Aint),
    INTEGER(MPI_COUNT, MPI_Count),
    INTEGER(MPI_OFFSET, MPI_Offset),
    FIXED(MPI_PACKED, 1, kText8),
    INTEGER(MPI_SHORT, short),
    INTEGER(MPI_INT, int),
    INTEGER(MPI_LONG, long),
    INTEGER(MPI_LONG_LONG_INT, long long),
    INTEGER(MPI_UNSIGNED_SHORT, unsigned short),
    INTEGER(MPI_UNSIGNED, unsigned),
    INTEGER(MPI_UNSIGNED_LONG, unsigned long),
    INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    NATIVE(MPI_FLOAT, float, kFloat),
    NATIVE(MPI_DOUBLE, double, kDouble),
    NATIVE(MPI_LONG_DOUBLE, long double, kLongDouble),
    NATIVE(MPI_C_COMPLEX, std::complex<float>, kComplexFloat),
    NATIVE(MPI_C_DOUBLE_COMPLEX, std::complex<double>, kComplexDouble),
    NATIVE(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>, kComplexLongDouble),
    NATIVE(MPI_CXX_FLOAT_COMPLEX, std::complex<float>, kComplexFloat),
    NATIVE(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>, kComplexDouble),
    NATIVE(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>, kComplexLongDouble),
    NATIVE(MPI_C_BOOL, bool, kBool),
    NATIVE(MPI_CXX_BOOL, bool, kBool),
    NATIVE(MPI_WCHAR, wchar_t, kText32),
    INTEGER(MPI_INT8_T, int8_t),
    INTEGER(MPI_UINT8_T, uint8_t),
    INTEGER(MPI_INT16_T, int16_t),
    INTEGER(MPI_UINT16_T, uint16_t),
    INTEGER(MPI_INT32_T, int32_t),
    INTEGER(MPI_UINT32_T, uint32_t),
    INTEGER(MPI_INT64_T, int64_t),
    INTEGER(MPI_UINT64_T, uint64_t),
    INTEGER(MPI_CHAR, char),
    INTEGER(MPI_SIGNED_CHAR, signed char),
    INTEGER(MPI_UNSIGNED_CHAR, unsigned char),
    FIXED(MPI_BYTE, 1, kByte),
    FIXED(MPI_LOGICAL, 4, kLogical32),
    FIXED(MPI_INTEGER, 4, kInt32),
    FIXED(MPI_REAL, 4, kFloat),
    COMPLEX(MPI_COMPLEX, 8, kComplexFloat),
    FIXED(MPI_DOUBLE_PRECISION, 8, kDouble),
    COMPLEX(MPI_DOUBLE_COMPLEX, 16, kComplexDouble),
    FIXED(MPI_CHARACTER, 1, kText8),
    FIXED(MPI_LOGICAL1, 1, kLogical8),
    FIXED(MPI_LOGICAL2, 2, kLogical16),
    FIXED(MPI_LOGICAL4, 4, kLogical32),
    FIXED(MPI_LOGICAL8, 8, kLogical64),
    FIXED(MPI_LOGICAL16, 16, kLogical128),
    FIXED(MPI_INTEGER1, 1, kInt8),
    FIXED(MPI_INTEGER2, 2, kInt16),
    FIXED(MPI_INTEGER4, 4, kInt32),
    FIXED(MPI_INTEGER8, 8, kInt64),
    FIXED(MPI_INTEGER16, 16, kInt128),
    FIXED(MPIX_C_FLOAT16, 2, kHalf),
    FIXED(MPIX_BFLOAT16, 2, kBfloat16),
    FIXED(MPI_REAL2, 2, kHalf),
    FIXED(MPI_REAL4, 4, kFloat),
    FIXED(MPI_REAL8, 8, kDouble),
    FIXED(MPI_REAL16, 16, kQuad),
    COMPLEX(MPI_COMPLEX4, 4, kComplexHalf),
    COMPLEX(MPI_COMPLEX8, 8, kComplexFloat),
    COMPLEX(MPI_COMPLEX16, 16, kComplexDouble),
    COMPLEX(MPI_COMPLEX32, 32, kComplexQuad),
    PAIR(MPI_FLOAT_INT, float, int, kFloatInt),
    PAIR(MPI_DOUBLE_INT, double, int, kDoubleInt),
    PAIR(MPI_LONG_INT, long, int, kLongInt),
    PAIR(MPI_2INT, int, int, kIntInt),
    PAIR(MPI_SHORT_INT, short, int, kShortInt),
    PAIR(MPI_LONG_DOUBLE_INT, long double, int, kLongDoubleInt),
    PAIR(MPI_2REAL, float, float, kFloatFloat),
    PAIR(MPI_2DOUBLE_PRECISION, double, double, kDoubleDouble),
    PAIR(MPI_2INTEGER, int, int, kIntInt),
};

}  // namespace

void make_predefined_types(Process& process) {
  for (const PredefinedRow& row : kRows)
    process.handles.set_predefined(
        reinterpret_cast<uintptr_t>(row.constant),
        *TypeBuilder::predefined(row.name, row.size, row.number, row.alignment, row.index_place));
}

void free_predefined_types(Process& process) noexcept {
  for (const auto& [key, type] : process.parameterised.all) {
    if (type == nullptr) continue;
    process.handles.erase(*type);
    type->release();
  }
  process.parameterised.all.clear();
  for (const PredefinedRow& row : kRows) {
    Datatype& type = predefined_type(process, row.constant);
    process.handles.erase(type);
    type.release();
  }
}

Datatype& predefined_type(Process& process, MPI_Datatype constant) noexcept {
  return *process.handles.find<Datatype>(constant);
}

}  // namespace tern::core
