// SPDX-License-Identifier: Apache-2.0
// What the kernels are given: plain structs that the host fills and the device reads.
#pragma once

#include <cstdint>

namespace tern::cuda {

inline constexpr int kMostSources = 16;

/// target[i] = sources[0][i] (op) (sources[1][i] (op) ( ... sources[n - 1][i])): from the last to
/// the first, as collectives on the host do it. The target may be one of the sources; else it
/// overlaps none. Any alignment.
struct ReduceArguments {
  const void* sources[kMostSources];
  void* target;
  int64_t count;      // elements of the kernel's type
  int32_t n;          // sources, 1 or more
  int32_t operation;  // a Reduction
};

// X(suffix, type, operations...): the kernel tern_reduce_SUFFIX. Sums, products, comparisons with
// zero and bits are the same for signed and unsigned numbers; `bits` takes bytes of any type.
#define TERN_REDUCE_KERNELS(X)                            \
  X(bits, uint32_t, Band, Bor, Bxor)                      \
  X(u8, uint8_t, Sum, Prod, Min, Max, Land, Lor, Lxor)    \
  X(u16, uint16_t, Sum, Prod, Min, Max, Land, Lor, Lxor)  \
  X(u32, uint32_t, Sum, Prod, Min, Max, Land, Lor, Lxor)  \
  X(u64, uint64_t, Sum, Prod, Min, Max, Land, Lor, Lxor)  \
  X(u128, Uint128, Sum, Prod, Min, Max, Land, Lor, Lxor)  \
  X(i8, int8_t, Min, Max)                                 \
  X(i16, int16_t, Min, Max)                               \
  X(i32, int32_t, Min, Max)                               \
  X(i64, int64_t, Min, Max)                               \
  X(i128, Int128, Min, Max)                               \
  X(f16, DeviceHalf, Sum, Prod, Min, Max)                 \
  X(bf16, DeviceBfloat16, Sum, Prod, Min, Max)            \
  X(f32, float, Sum, Prod, Min, Max)                      \
  X(f64, double, Sum, Prod, Min, Max)                     \
  X(c16, Complex<DeviceHalf>, ComplexProd)                \
  X(c32, Complex<float>, ComplexProd)                     \
  X(c64, Complex<double>, ComplexProd)                    \
  X(f32_i32, Pair<float COMMA int32_t>, Minloc, Maxloc)   \
  X(f64_i32, Pair<double COMMA int32_t>, Minloc, Maxloc)  \
  X(i64_i32, Pair<int64_t COMMA int32_t>, Minloc, Maxloc) \
  X(i32_i32, Pair<int32_t COMMA int32_t>, Minloc, Maxloc) \
  X(i16_i32, Pair<int16_t COMMA int32_t>, Minloc, Maxloc) \
  X(f32_f32, Pair<float COMMA float>, Minloc, Maxloc)     \
  X(f64_f64, Pair<double COMMA double>, Minloc, Maxloc)

/// n / d for 0 <= n < 2^63 by a multiplication.
struct Divisor {
  uint64_t magic;  // 0: d is 1
  int32_t shift;
};

/// One node of a layout (core/datatype_layout.hpp), as kernels read it. Lists are words of the
/// image that it stands in: `places` and so on are the index of their first one.
struct LayoutNode {
  enum Form : int32_t { kBlock, kStrided, kList, kBlocks, kSequence };
  int32_t form;
  int32_t child;     // kStrided, kList: a node
  int64_t size;      // packed bytes
  int64_t stride;    // kStrided
  int64_t count;     // kList, kBlocks, kSequence: entries of places
  Divisor by_child;  // kStrided, kList: by the packed bytes of the child
  int64_t places, starts, parts;
};

inline constexpr int kInlineWords = 128;

/// Moves the packed bytes [begin, end) of elements that lie `extent` apart, each laid out as node
/// `root`.
struct PackArguments {
  char* memory;           // the origin of the first element
  char* packed;           // where packed byte 0 would be
  const uint64_t* image;  // the program in device memory; null: inline_image
  int64_t begin, end;
  Divisor by_element;  // by the packed bytes of the root
  int64_t element, extent;
  int32_t root;
  int32_t shift;      // words of 2^shift bytes are aligned and in one block; -1: any bytes
  int32_t to_memory;  // unpacks
  uint64_t inline_image[kInlineWords];
};

/// Copies up to some KiB by one block of threads, then sets *flag, where there is one, to `value`.
struct MailArguments {
  char* to;
  const char* from;
  int64_t bytes;
  uint32_t* flag;
  uint32_t value;
};

}  // namespace tern::cuda
