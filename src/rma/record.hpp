// SPDX-License-Identifier: Apache-2.0
// Records: operations on unshared memory as messages.
// Layout: Record, pieces, and up to kMostInline bytes; more data is a separate message. Targets
// validate every field (rma/target_side.cc) and execute an origin's records in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::core {
class Datatype;
class Process;
}  // namespace tern::core

namespace tern::rma {

/// Operations are below kFlush.
enum class Verb : uint8_t {
  kPut = 1,
  kGet,          // answer: the bytes
  kAccumulate,   // data: an array of elements
  kFetch,        // data: an array or none; answer: old elements
  kCompareSwap,  // data: compared and new value; answer: old value
  kFlush,        // answer: an Ended, after earlier records
  kLock,         // answer: empty, once locked
  kUnlock,
  kPost,
  kComplete,
};

struct Record {
  static constexpr uint8_t kInline = 1;     // data follows the pieces
  static constexpr uint8_t kExclusive = 2;  // of kLock
  Verb verb;
  uint8_t flags;
  uint8_t reduction;
  uint8_t reserved;
  uint32_t basic;  // ABI constant of the predefined type
  uint32_t pieces;
  int32_t tag;  // of data and answer
  uint64_t bytes;
  uint64_t packed;
};
static_assert(sizeof(Record) == 32);

/// A range in the target's part, or in its address space.
struct RecordPiece {
  uint64_t at, bytes;
};

struct Ended {
  int32_t error;  // first failure since the last flush
};

inline constexpr size_t kMostPieces = 128, kMostInline = 2048;
inline constexpr size_t kMostRecord =
    sizeof(Record) + kMostPieces * sizeof(RecordPiece) + kMostInline;
/// Limit of data with several pieces, or of an accumulate.
inline constexpr size_t kMostStaged = size_t{1} << 18;
inline constexpr int kRecordTag = 0;  // data and answers use other tags

[[nodiscard]] uint32_t constant_of(core::Process& process, const core::Datatype& basic) noexcept;

}  // namespace tern::rma
