// SPDX-License-Identifier: Apache-2.0
// Kernel arguments: plain structs, filled by the host and read by the device.
#pragma once

#include <cstdint>

#include "base/device.hpp"

namespace tern::cuda {

inline constexpr int kMostSources = 16;

/// target[i] = sources[0][i] (op) (sources[1][i] (op) ( ... sources[n - 1][i])), from the last to
/// the first, as on the host. The target is among the sources or overlaps none. Any alignment.
struct ReduceArguments {
  const void* sources[kMostSources];
  void* target;
  int64_t count;
  int32_t n;
  int32_t operation;
};

/// The result also goes to others[0], ..., others[also - 1]: each among the sources, or overlapping
/// none. Any alignment.
struct SpreadArguments {
  ReduceArguments reduction;
  void* others[kMostSources - 1];
  int32_t also;
};

// X(suffix, type, operations...) defines the kernel tern_reduce_SUFFIX. Signed and unsigned
// integers share sums, products and logical operations; `bits` takes bytes of any type.
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

// X(suffix, type, operation, form, instruction) lists reductions by the switch: the equivalent
// kernel from above, and the end of multimem.ld_reduce. Forms: 16 bytes at once (kWhole), four
// words (kWords), two times 8 bytes (kHalves). The switch sums floats in any order, and fp16 and
// bf16 in fp32.
#define TERN_MULTIMEM_REDUCTIONS(X)                              \
  X(bits, uint32_t, Band, kWords, "and.b32")                     \
  X(bits, uint32_t, Bor, kWords, "or.b32")                       \
  X(bits, uint32_t, Bxor, kWords, "xor.b32")                     \
  X(u32, uint32_t, Sum, kWords, "add.u32")                       \
  X(u32, uint32_t, Min, kWords, "min.u32")                       \
  X(u32, uint32_t, Max, kWords, "max.u32")                       \
  X(i32, int32_t, Min, kWords, "min.s32")                        \
  X(i32, int32_t, Max, kWords, "max.s32")                        \
  X(u64, uint64_t, Sum, kHalves, "add.u64")                      \
  X(u64, uint64_t, Min, kHalves, "min.u64")                      \
  X(u64, uint64_t, Max, kHalves, "max.u64")                      \
  X(i64, int64_t, Min, kHalves, "min.s64")                       \
  X(i64, int64_t, Max, kHalves, "max.s64")                       \
  X(f16, DeviceHalf, Sum, kWhole, "add.acc::f32.v4.f16x2")       \
  X(f16, DeviceHalf, Min, kWhole, "min.v4.f16x2")                \
  X(f16, DeviceHalf, Max, kWhole, "max.v4.f16x2")                \
  X(bf16, DeviceBfloat16, Sum, kWhole, "add.acc::f32.v4.bf16x2") \
  X(bf16, DeviceBfloat16, Min, kWhole, "min.v4.bf16x2")          \
  X(bf16, DeviceBfloat16, Max, kWhole, "max.v4.bf16x2")          \
  X(f32, float, Sum, kWhole, "add.v4.f32")                       \
  X(f64, double, Sum, kHalves, "add.f64")

enum class MultimemReduction : uint8_t {
#define TERN_ONE(suffix, type, operation, ...) suffix##_##operation,
  TERN_MULTIMEM_REDUCTIONS(TERN_ONE)
#undef TERN_ONE
      kCount
};

/// n / d for 0 <= n < 2^63 by multiplication.
struct Divisor {
  uint64_t magic;  // 0: d is 1
  int32_t shift;
};

/// A node of a layout (core/datatype_layout.hpp). `places`, `starts` and `parts` are indices of
/// lists in the image.
struct LayoutNode {
  enum Form : int32_t { kBlock, kStrided, kList, kBlocks, kSequence };
  int32_t form;
  int32_t child;
  int64_t size;
  int64_t stride;
  int64_t count;     // kList, kBlocks, kSequence: length of places
  Divisor by_child;  // kStrided, kList: the packed bytes of the child
  int64_t places, starts, parts;
};

inline constexpr int kInlineWords = 128;

struct PackArguments {
  char* memory;
  char* packed;
  const uint64_t* image;  // in device memory; null: inline_image
  int64_t begin, end;
  Divisor by_element;
  int64_t element, extent;
  int32_t root;
  int32_t shift;  // words of 2^shift bytes are aligned and never span blocks; -1: any bytes
  int32_t to_memory;
  uint64_t inline_image[kInlineWords];
};

struct MailArguments {
  char* to;
  const char* from;
  int64_t bytes;
  uint32_t* flag;
  uint32_t value;
};

inline constexpr int kMostRanks = 64;

/// A step for tern_interpret, without addresses and sizes, so that all calls of a schedule share a
/// program.
struct Instruction {
  enum Verb : uint8_t { kMove, kReduce, kSignal, kWait };
  static constexpr int32_t kCredit = -1, kLength = -2;  // kLength: in reports of exchange.cuh
  uint8_t verb;
  uint8_t sources, destinations;
  uint8_t unused;
  int32_t first, blocks;
  uint32_t operand;  // index of the sources, then the destinations
  int32_t peer;
  int32_t message;  // kSignal, kWait: index in the pair's messages, or kCredit
  int32_t step;
  int32_t more;
};
static_assert(sizeof(Instruction) == 32);

struct Operand {
  enum Space : uint8_t { kInput, kOutput, kLocal, kInbox };
  uint8_t space;
  uint8_t in_mirror;  // kLocal: parts are adjacent, not in slots
  int16_t owner;      // kInbox: the rank with the scratch
  int16_t from;       // kInbox: the sender
  int16_t unused;
  int32_t slot;  // kLocal, kInbox: in units of InterpretArguments::unit
  int32_t first;
};
static_assert(sizeof(Operand) == 16);

struct KernelReport {
  enum State : uint32_t { kNothing, kWaits, kLate, kTold };
  uint32_t state;
  uint32_t number;
  int32_t peer;  // kWaits, kLate: awaited rank; kTold: rank that gave up first
  int32_t message, step;
  uint32_t call;
  int64_t pass;
  uint64_t let_go;  // the host writes let_go to end the kernel; copies may queue behind the wait
};
/// The abort word of a scratch is 1 + the rank that gave up, or kLetGo, by which the host ends all
/// waits.
inline constexpr uint32_t kLetGo = ~0U;

struct WaitShared {
  uint32_t left;
  uint32_t told;
};

struct DataBlock {
  int64_t offset, length;
};

/// The kernels' share of the scratch for pairs of ranks, in two sets (coll/gpu/layout.hpp), with
/// offsets and strides in bytes. Thread blocks share a region and its semaphores.
struct PairRegions {
  int64_t inbox, region, region_each;
  int64_t data_words, credit_words;
  int64_t words_of_set, ctas;
};

/// A lowered schedule with data. Pass p works on the p-th piece of every block, cut into `parts`
/// operands, in the scratch of thread block p % gridDim.x. A side is the caller's data or, if
/// `local`, a copy in the scratch.
struct InterpretArguments {
  struct Side {
    char* base;
    int64_t offset;  // if local: in the thread block's memory
    int64_t stride;  // between blocks; unused for a vector
    int32_t local;
    int32_t in_table;  // block offsets are in `table`
  };
  const char* program;  // all ranks' scratch addresses, instructions, operands
  KernelReport* reports;
  Side sides[2];
  Side source;
  int32_t source_blocks;
  int32_t instructions, operands_at;
  int32_t ranks, rank;
  int32_t parts;    // of the vector, or of each block
  int32_t element;  // bytes per unit of total and length
  int32_t set;
  int64_t total, length;         // of the vector or block; per pass
  int64_t first_pass, end_pass;  // first_pass is a multiple of gridDim.x
  int64_t unit;                  // bytes per part in the scratch
  int64_t local, local_each;     // offset in the scratch; bytes per thread block
  int64_t front;                 // parts of local memory before the stages
  PairRegions pairs;
  int64_t abort_word;
  uint64_t timeout;  // ns; 0: no timeout
  uint32_t call;
  int32_t kernel;
  int32_t operation;
  int32_t reduce_element;
  int32_t tabled;
  int32_t vector;  // 0: separate blocks
  DataBlock table[kMostRanks];
};
static_assert(sizeof(InterpretArguments) <= 4000);

/// A collective of one or two hops (push.cuh). Offsets are in the scratch.
struct PushArguments {
  enum What : int32_t { kReduce, kCopy, kBarrier };
  static constexpr int32_t kAllRanks = -1, kNoRank = -2, kAbove = -3, kBelow = -4;
  const char* bases[kMostRanks];
  KernelReport* reports;
  const char* input;  // the vector, or the block for rank 0; null: none, or not part of the result
  char* output;       // the result, or its block from rank 0; null: none
  int64_t bytes;      // of the vector or of each block
  int64_t chunk, chunks;  // bytes, a multiple of 16; each chunk is like a call of its own
  int64_t input_stride, output_stride;  // between blocks; 0: the same block for all ranks
  int64_t words, counters;  // of the wire: slots [set][rank][part]; pass counters [part]
  int64_t flags;            // bulk: [set][rank][part]
  int64_t abort_word;
  int64_t room;  // vectors of 16 bytes per slot; LL128: a multiple of 30
  uint64_t timeout;
  uint64_t refresh;  // LL: period in passes, less 1; two passes per period use whole slots
  int32_t ranks, rank;
  int32_t parts;
  int32_t what;
  int32_t to, from;  // destination and source of data: a rank or a constant; `to` is not kBelow
  int32_t last;
  int32_t spread;  // two hops: each rank reduces a part of the vector, or passes it on
  int32_t kernel;
  int32_t operation;
  uint32_t call;
  enum Tabled : int32_t { kNone, kInput, kOutput };
  int32_t tabled;               // the side whose blocks differ, as described in `table`;
  DataBlock table[kMostRanks];  // `bytes` is the largest
};
static_assert(sizeof(PushArguments) <= 4000);

/// A collective over multicast memory (multicast.cuh): a store at the address `all` reaches all
/// ranks, and a load returns the reduction. Vectors have 16 bytes; offsets are in multicast memory.
struct MulticastArguments {
  enum What : int32_t { kAllreduce, kReduceScatter, kAllgather, kBcast };
  const char* bases[kMostRanks];
  KernelReport* reports;
  const char* input;  // the vector, or the block for rank 0; null: none, or packed in the stage
  char* output;       // the result, or its block from rank 0; null: none, or left in the stage
  char* own;
  char* all;
  int64_t bytes;
  int64_t begin, end;  // vectors; begin is a multiple of room
  int64_t input_stride, output_stride;
  int64_t words, numbers, stage;  // semaphores [part][rank]; pass numbers [part]
  int64_t room;                   // vectors per block in the stage
  int64_t abort_word;
  uint64_t timeout;
  int32_t ranks, rank, root;
  int32_t what;
  int32_t reduction;
  uint32_t call;
};

/// Blocks of sizes known only to the pair of ranks (exchange.cuh). Offsets are in the scratch.
struct ExchangeArguments {
  struct Block {
    char* at;
    int64_t bytes;
    int32_t first;
    int16_t peer;
    int16_t packed;
  };
  static constexpr int kMostBlocks = 2 * kMostRanks;
  const char* bases[kMostRanks];
  KernelReport* reports;
  Block blocks[kMostBlocks];  // sent, then received; a pair's in equal order on both ranks
  int64_t begin, end;
  PairRegions pairs;
  int64_t abort_word;
  int64_t least;  // bytes per thread block before another joins
  uint64_t timeout;
  int32_t ranks, rank;
  int32_t sent, received;
  int32_t parts;
  int32_t set;      // of step 0: 0 or 1
  uint32_t number;  // of the exchange; the same on all ranks
  uint32_t call;
};
static_assert(sizeof(ExchangeArguments) <= 4000);

/// Returns the bytes that each of `parts` thread blocks moves per step, at most `most`. The result
/// is the same on both ranks of a pair.
TERN_HOST_DEVICE int64_t exchange_part(int64_t bytes, int64_t parts, int64_t least, int64_t most) {
  const int64_t even = (bytes + parts - 1) / parts, wanted = even > least ? even : least;
  const int64_t whole = (wanted + 15) / 16 * 16;
  return whole < most ? whole : most;
}

struct PushShared {
  WaitShared wait;
  uint64_t passes;
};

struct InterpretShared {
  ReduceArguments reduction;
  WaitShared wait;
};

}  // namespace tern::cuda
