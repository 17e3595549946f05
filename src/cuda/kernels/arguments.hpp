// SPDX-License-Identifier: Apache-2.0
// What the kernels are given: plain structs that the host fills and the device reads.
#pragma once

#include <cstdint>

#include "base/device.hpp"

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

// X(suffix, type, operation, form, instruction): what a switch reduces for multicast addresses:
// with which of the kernels above it agrees, and the end of multimem.ld_reduce. Forms: 16 bytes at
// once (kWhole), four words (kWords), two of 8 bytes (kHalves). Sums of floats are taken in any
// order, of fp16 and bf16 in fp32; all ranks have the bits of the one that asks.
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

inline constexpr int kMostRanks = 64;  // of a team (coll/gpu/team_memory.hpp)

/// A step of a program that tern_interpret runs: no address, no size, so that one program serves
/// all calls of a schedule.
struct Instruction {
  enum Verb : uint8_t { kMove, kReduce, kSignal, kWait };
  static constexpr int32_t kCredit = -1, kLength = -2;  // kLength: of reports (exchange.cuh)
  uint8_t verb;
  uint8_t sources, destinations;
  uint8_t unused;
  int32_t first, blocks;  // the blocks that are moved or reduced
  uint32_t operand;       // first of its operands: sources, then destinations
  int32_t peer;           // kSignal, kWait: the rank at the other end
  int32_t message;        // kSignal, kWait: of the pair of ranks; kCredit: its credit
  int32_t step;           // of the schedule, for reports
  int32_t more;
};
static_assert(sizeof(Instruction) == 32);

struct Operand {
  enum Space : uint8_t { kInput, kOutput, kLocal, kInbox };
  uint8_t space;
  uint8_t in_vector;  // kLocal: laid out like the vector, not in slots
  int16_t owner;      // kInbox: whose scratch,
  int16_t from;       // and the region of which sender
  int16_t unused;
  int32_t slot;   // kLocal, kInbox: in blocks of InterpretArguments::unit
  int32_t first;  // block: of input, output, vectors
};
static_assert(sizeof(Operand) == 16);

/// What a block of threads that waits for another rank's says in pinned memory: that it does, for
/// longer than usual; and that it has given up.
struct KernelReport {
  enum State : uint32_t { kNothing, kWaits, kLate, kTold };
  uint32_t state;
  uint32_t number;  // of the times that it waited so long
  int32_t peer;     // kWaits, kLate: waited for; kTold: gave up first
  int32_t message, step;
  uint32_t call;  // as the launch had it
  int64_t pass;
  uint64_t let_go;  // the host writes: leave, also where no copy gets past what waits
};
/// In the abort word of a scratch: who gave up, and 1 more; or that the host ends all waits.
inline constexpr uint32_t kLetGo = ~0U;

/// Of a block of threads that waits (wait.cuh).
struct WaitShared {
  uint32_t left;  // it gives up: a KernelReport::State
  uint32_t told;  // the host knows that it waits
};

/// Where a block lies from the first one on, and how long it is: in units, or in bytes.
struct DataBlock {
  int64_t offset, length;
};

/// What each pair of ranks has in the scratch for kernels, in two sets (coll/gpu/layout.hpp):
/// offsets, and bytes from one to the next. A region and its words are cut among blocks of threads.
struct PairRegions {
  int64_t inbox, region, region_each;
  int64_t data_words, credit_words;
  int64_t words_of_set, ctas;  // data words of a pair and set; how many share the scratch
};

/// A lowered schedule over data: pass p works on the p-th part of every block, in the share of the
/// scratch that block p % gridDim.x of threads has. A side is the caller's data or, as `local`,
/// what stands for it in the own scratch.
struct InterpretArguments {
  struct Side {
    char* base;      // of block 0, pass 0
    int64_t offset;  // instead, in the local memory of a block of threads
    int64_t stride;  // from one block to the next; a vector has none
    int32_t local;
    int32_t in_table;  // blocks lie where `table` says
  };
  const char* program;  // addresses of all ranks' scratch, instructions, operands
  KernelReport* reports;
  Side sides[2];  // by Operand::Space
  Side source;    // kInput is copied from here first, where that has blocks
  int32_t source_blocks;
  int32_t instructions, operands_at;  // how many; offset in the program
  int32_t ranks, rank;
  int32_t parts;    // of the vector; 0: no vector, but blocks
  int32_t element;  // bytes of a unit of total and length
  int32_t set;
  int64_t total, length;         // of the vector or of a block; in one pass
  int64_t first_pass, end_pass;  // the first is a multiple of gridDim.x
  int64_t unit;                  // bytes that a block has in the scratch
  int64_t local, local_each;     // offsets in the scratch; bytes of one block of threads
  int64_t front;                 // blocks of local memory before the stages
  PairRegions pairs;
  int64_t abort_word;  // in the scratch
  uint64_t patience;   // ns; 0: for ever
  uint32_t call;       // for reports
  int32_t kernel;      // which of TERN_REDUCE_KERNELS
  int32_t operation;
  int32_t reduce_element;  // bytes
  int32_t tabled;          // lengths differ: table
  DataBlock table[kMostRanks];
};
static_assert(sizeof(InterpretArguments) <= 4000);

/// A collective of one hop, or of two (push.cuh). Offsets are in the scratch.
struct PushArguments {
  enum What : int32_t { kReduce, kCopy, kBarrier };
  static constexpr int32_t kAllRanks = -1, kNoRank = -2, kAbove = -3, kBelow = -4;
  const char* bases[kMostRanks];  // of all ranks' scratch
  KernelReport* reports;
  const char* input;  // the vector, or the block for rank 0; null: none, or not the result's
  char* output;       // the result, or its block from rank 0; null: none
  int64_t bytes;      // of the vector, or of a block
  int64_t total;      // where it spreads: of the vector, whose blocks are `bytes` but for the last
  int64_t input_stride, output_stride;  // from the block of one rank to the next; 0: one for all
  int64_t words, counters;  // of the wire: slots of each set, rank and part; passes of each part
  int64_t abort_word;
  int64_t room;       // vectors of 16 bytes in a slot; LL128: a multiple of 30
  uint64_t patience;  // ns; 0: for ever
  uint64_t refresh;   // LL: a number of passes less 1, of which two use whole slots
  int32_t ranks, rank;
  int32_t parts;  // blocks of threads that have slots
  int32_t what;
  int32_t to, from;  // whom data goes to and comes from: a rank, or of the above; to not kBelow
  int32_t last;      // kReduce: of the ranks 0 to this one
  int32_t spread;    // what has been reduced goes to all in a second hop
  int32_t kernel;    // which of TERN_REDUCE_KERNELS
  int32_t operation;
  uint32_t call;  // for reports
  enum Tabled : int32_t { kNone, kInput, kOutput };
  int32_t tabled;               // blocks differ, and lie where `table` says in this side; of the
  DataBlock table[kMostRanks];  // other side there is the own one. `bytes` is the largest's
};
static_assert(sizeof(PushArguments) <= 4000);

/// A collective through memory of all ranks' devices that has one more address, a multicast one, by
/// which a store reaches all of them, and a load what they reduce to (multicast.cuh). Vectors are
/// 16 bytes; offsets are in that memory.
struct MulticastArguments {
  enum What : int32_t { kAllreduce, kReduceScatter, kAllgather, kBcast };
  const char* bases[kMostRanks];  // of all ranks' scratch
  KernelReport* reports;
  const char* input;   // the vector, or the block for rank 0; null: none, or packed in the stage
  char* output;        // the result, or its block from rank 0; null: none, or it stays in the stage
  char* own;           // the memory of this device,
  char* all;           // and of all
  int64_t bytes;       // of the vector, or of a block
  int64_t begin, end;  // vectors of that; begin is a multiple of room
  int64_t input_stride, output_stride;  // from the block of one rank to the next
  int64_t words, numbers, stage;        // a word of each part and rank; a number of each part
  int64_t room;                         // vectors of a block in the stage
  int64_t abort_word;                   // in the scratch
  uint64_t patience;                    // ns; 0: for ever
  int32_t ranks, rank, root;
  int32_t what;
  int32_t reduction;  // a MultimemReduction
  uint32_t call;      // for reports
};

/// Blocks between pairs of ranks, which alone know their sizes (exchange.cuh). Offsets are in the
/// scratch.
struct ExchangeArguments {
  /// Of the caller's.
  struct Block {
    char* at;  // its first byte; packed: of what the present step moves of it
    int64_t bytes;
    int32_t
        first;  // step, behind those of the same peer before it, in an order that both ends know
    int16_t peer;
    int16_t packed;
  };
  static constexpr int kMostBlocks = 2 * kMostRanks;
  const char* bases[kMostRanks];  // of all ranks' scratch
  KernelReport* reports;
  Block blocks[kMostBlocks];  // what is sent, then what is received
  int64_t begin, end;         // steps; where something is packed, one
  PairRegions pairs;
  int64_t abort_word;  // in the scratch
  int64_t least;       // bytes for a block of threads, before another one works
  uint64_t patience;   // ns; 0: for ever
  int32_t ranks, rank;
  int32_t sent, received;  // blocks
  int32_t parts;           // blocks of threads that share chunks, where there is enough
  int32_t set;             // of step 0: 0 or 1
  uint32_t number;         // of the exchange, alike on all ranks
  uint32_t call;           // for reports
};
static_assert(sizeof(ExchangeArguments) <= 4000);

/// Bytes that one of `parts` blocks of threads moves in a step of a block of `bytes`, of which a
/// region holds `most`. Both ends of a pair come to the same.
TERN_HOST_DEVICE int64_t exchange_part(int64_t bytes, int64_t parts, int64_t least, int64_t most) {
  const int64_t even = (bytes + parts - 1) / parts, wanted = even > least ? even : least;
  const int64_t whole = (wanted + 15) / 16 * 16;
  return whole < most ? whole : most;
}

struct PushShared {
  WaitShared wait;
  uint64_t passes;
};

/// Of a block of threads.
struct InterpretShared {
  ReduceArguments reduction;
  WaitShared wait;
};

}  // namespace tern::cuda
