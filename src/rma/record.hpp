// SPDX-License-Identifier: Apache-2.0
// Records: requests to a rank for operations on its unshared memory.
// Order: a target executes the records of one origin in sending order. Layout: Record, its pieces,
// and up to kMostInline bytes of data; more data is a separate message. Targets validate every
// field (rma/target_side.cc).
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
  kGet,          // answer: the bytes
  kAccumulate,   // data: an array of elements
  kFetch,        // data: an array or none; answer: the old elements as an array
  kCompareSwap,  // data: the compared value, then the new value; answer: the old value
  kFlush,        // answer: an Ended, once all earlier records are done
  kLock,         // answer: no bytes, once the lock is held
  kUnlock,
  kPost,
  kComplete,
};

struct Record {
  static constexpr uint8_t kInline = 1;     // data follows the pieces
  static constexpr uint8_t kExclusive = 2;  // of kLock
  Verb verb;
  uint8_t flags;
  uint8_t reduction;  // core's Reduction
  uint8_t reserved;
  uint32_t basic;   // the elements' predefined type: its ABI constant
  uint32_t pieces;  // number of following pieces
  int32_t tag;      // tag of the data message and of the answer
  uint64_t bytes;   // data size
  uint64_t packed;  // of elements: the packed position of the first piece
};
static_assert(sizeof(Record) == 32);

/// A range of the target's part; addresses for a dynamic window.
struct Piece {
  uint64_t at, bytes;
};

struct Ended {
  int32_t error;  // class of the first failure since the last flush
};

inline constexpr size_t kMostPieces = 128, kMostInline = 2048;
inline constexpr size_t kMostRecord = sizeof(Record) + kMostPieces * sizeof(Piece) + kMostInline;
/// Limit of data per record with several pieces, or of an accumulate.
inline constexpr size_t kMostStaged = size_t{1} << 18;
inline constexpr int kRecordTag = 0;  // data and answers use other tags

/// The ABI constant of a predefined type, or of a type with the same elements; 0 if none has them.
[[nodiscard]] uint32_t constant_of(core::Process& process, const core::Datatype& basic) noexcept;

}  // namespace tern::rma
