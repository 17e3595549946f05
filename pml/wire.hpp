// SPDX-License-Identifier: Apache-2.0
// The wire format of the pml: kinds of frames, and prefixes before the data. Every change needs a
// new btl::kWireVersion. The receiver looks up and checks handles of requests.
#pragma once

#include <cstdint>

#include "core/communicator.hpp"
#include "cuda/event.hpp"
#include "mpi.h"

namespace tern::pml::wire {

enum Kind : uint8_t {
  kEager = 1,
  kEagerSync = 2,  // SyncPrefix, data; answered with kDone after matching
  kRts = 3,
  kGo = 4,  // Go (the CTS), with kPut also a memory key
  kData = 5,
  kDone = 6,
  kContext = 7,
  kPace = 8,      // eager or RTS only
  kLanded = 11,   // all puts have landed, or the sender cannot put
  kFailed = 10,   // the data will not come
  kWithdraw = 9,  // cancels an unmatched message
  kRevoke = 12,
};
/// With kLong, a LongContext comes first, and the header has the plane only.
inline constexpr uint8_t kLong = 0x40;
/// With kSigned, a Signature follows the LongContext.
inline constexpr uint8_t kSigned = 0x20;
/// With kWithHandle, a btl::MemoryHandle follows, then possibly DevicePieces. Without, `key` bytes
/// of a btl::MemoryRegion's key follow an Rts.
inline constexpr uint8_t kWithHandle = 0x10;

struct LongContext {
  uint64_t creator;
  uint64_t counter;
};
/// A TypeSignature serves TERN_CHECK=types.
struct TypeSignature {
  uint64_t hash;
  uint64_t elements;
  uint64_t untyped;  // nonzero: MPI_PACKED, matches all
  char words[40];    // "10 MPI_FLOAT"
};
struct SyncPrefix {
  uint64_t sender;
};
struct Rts {
  uint64_t bytes;
  uint64_t sender;   // 0: lost; `address` is the error class
  uint64_t address;  // address of the data or packed data, if one block
  uint32_t claims;   // the sender's SharedClaims; 0: none
  uint16_t staged;   // the block is filled chunk by chunk
  uint16_t key;      // bytes of the block's RDMA key; 0: none
};
/// A sender writes the block in pieces. A piece is ready when the event has happened and the stamp
/// before the data is this message's; a dead device writes no stamp.
struct DevicePieces {
  static constexpr uint32_t kMost = 8;
  static constexpr size_t kBegin = 256;
  uint64_t bytes;  // size of all pieces but the last
  uint32_t count;  // 0: the data is complete
  uint32_t stamp;
  cuda::EventName events[kMost];
};
enum class Way : uint32_t { kNone = 0, kPipeline = 1, kBothEnds = 2, kPieces = 3, kPut = 4 };
struct Go {
  uint64_t sender;
  uint64_t receiver;
  uint64_t bytes;
  uint64_t address;  // kBothEnds, kPut: destination
  Way way;
  uint32_t reserved;
};
struct DataPrefix {
  uint64_t receiver;
  uint64_t offset;
};
struct Done {
  uint64_t sender;
  uint32_t error;
  uint32_t spent = 0;  // from match to end, in kSpentNs; 0: unknown
};
inline constexpr int64_t kSpentNs = 16;
struct ContextTold {
  LongContext id;
  uint64_t index;
};
/// A cancelled message has this Done::error.
inline constexpr uint32_t kWithdrawn = UINT32_MAX;
struct Withdraw {
  uint64_t sender;
};
struct Landed {
  uint64_t receiver;
  uint64_t declined;  // the sender cannot put, so the receiver asks for another protocol
};
struct Failed {
  uint64_t receiver;
  uint64_t error;
};
/// MPIX_Comm_revoke: the communicator may not exist yet, or any more.
struct Revoke {
  LongContext id;
};
struct Pace {
  uint64_t eager;
};

/// An invalid class gives MPI_ERR_OTHER.
inline int class_from(uint64_t told) noexcept {
  return told == MPI_SUCCESS || told >= MPI_ERR_LASTCODE ? MPI_ERR_OTHER : static_cast<int>(told);
}

inline uint32_t context_word(uint32_t index, uint32_t plane) noexcept { return index << 2 | plane; }

}  // namespace tern::pml::wire
