// SPDX-License-Identifier: Apache-2.0
// What one rank asks of another's memory where they do not share it: a record, and what stands
// behind it. Records of one origin are executed in the order in which they were sent.
// Layout: Record, its pieces, and data of up to kMostInline bytes; more data is a message of its
// own. A target trusts nothing of it (rma/target_side.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::core {
class Datatype;
class Process;
}  // namespace tern::core

namespace tern::rma {

enum class Verb : uint8_t {
  kPut = 1,
  kGet,          // answered with the bytes
  kAccumulate,   // data: an array of elements
  kFetch,        // likewise, or none; answered with what was there before, as an array
  kCompareSwap,  // data: what is compared, then the new value; answered with the old one
  kFlush,        // answered with an Ended, once all before it is done
  kLock,         // answered with no bytes, once the lock is held
  kUnlock,
  kPost,
  kComplete,
};

struct Record {
  static constexpr uint8_t kInline = 1;     // the data stands behind the pieces
  static constexpr uint8_t kExclusive = 2;  // the lock
  Verb verb;
  uint8_t flags;
  uint8_t reduction;  // core's Reduction
  uint8_t reserved;
  uint32_t basic;   // the elements' predefined type: its constant of the ABI
  uint32_t pieces;  // that follow
  int32_t tag;      // of the message with the data, and of the answer
  uint64_t bytes;   // of data
  uint64_t packed;  // elements: which of their packed bytes the first piece begins with
};
static_assert(sizeof(Record) == 32);

/// Bytes of the target's part; of a dynamic window's, addresses.
struct Piece {
  uint64_t at, bytes;
};

struct Ended {
  int32_t error;  // the class of the first failure since the last flush
};

inline constexpr size_t kMostPieces = 128, kMostInline = 2048;
inline constexpr size_t kMostRecord = sizeof(Record) + kMostPieces * sizeof(Piece) + kMostInline;
/// Data of several pieces, or of an accumulate, that one record has at most.
inline constexpr size_t kMostStaged = size_t{1} << 18;
inline constexpr int kRecordTag = 0;  // data and answers have others

/// The constant of the ABI that names a predefined type; of one without a constant, of a type with
/// the same elements. 0 if no constant has them.
[[nodiscard]] uint32_t constant_of(core::Process& process, const core::Datatype& basic) noexcept;

}  // namespace tern::rma
