// SPDX-License-Identifier: Apache-2.0
// What the pml's frames say: the kinds, and what stands before the data of each.
// Why: one place that both ends read. A change here is a new btl::kWireVersion.
// Names of requests are their handle words: looked up and checked on arrival, never trusted as
// pointers.
#pragma once

#include <cstdint>

#include "core/communicator.hpp"
#include "cuda/event.hpp"
#include "mpi.h"

namespace tern::pml::wire {

enum Kind : uint8_t {
  kEager = 1,      // data
  kEagerSync = 2,  // SyncPrefix, data: answered by kDone when matched
  kRts = 3,        // Rts: a large message waits for its receive
  kGo = 4,       // Go, and a MemoryRegion's key with kPut: receiver to sender: how the data travels
  kData = 5,     // DataPrefix, data
  kDone = 6,     // Done: receiver to sender: it has everything (or failed)
  kContext = 7,  // ContextTold: the index by which to name a communicator from now on
  kPace = 8,     // Pace: receiver to sender: what may be sent before its receive is known
  kLanded = 11,  // Landed: sender to receiver: all that it has put is there
  kFailed = 10,  // Failed: sender to receiver: the data of an announced message cannot come
  kWithdraw = 9,  // Withdraw: sender to receiver: forget an announced message that was not received
};
/// Flag of a kind: the payload begins with a LongContext, and the header's context is the plane
/// alone.
inline constexpr uint8_t kLong = 0x40;
/// Flag of a message's kind: a Signature stands before the rest (after the LongContext).
inline constexpr uint8_t kSigned = 0x20;
/// Flag of an announcement: a btl::MemoryHandle stands after the Rts, and Pieces where there is
/// more.
inline constexpr uint8_t kWithHandle = 0x10;

struct LongContext {
  uint64_t creator;
  uint64_t counter;
};
/// The basic types of what was sent, for TERN_CHECK=types.
struct Signature {
  uint64_t hash;
  uint64_t elements;
  uint64_t untyped;  // nonzero: MPI_PACKED, which matches everything
  char words[40];    // "10 MPI_FLOAT", with an end
};
struct SyncPrefix {
  uint64_t sender;
};
struct Rts {
  uint64_t bytes;
  uint64_t sender;   // 0: the data cannot come; the address is the error class
  uint64_t address;  // of the data where it is one block, or packed into one, else 0
  uint32_t claims;   // name of the sender's SharedClaims, 0 for none
  uint32_t staged;   // nonzero: the block is filled chunk by chunk; to be read by claims only
};
/// The handle's block is being written, piece by piece: each is there when its event has happened
/// and its stamp, one of the words before the data, is that of the message: a device that has died
/// writes none.
struct Pieces {
  static constexpr uint32_t kMost = 8;
  static constexpr size_t kBegin = 256;  // of the data in the block
  uint64_t bytes;                        // of each; the last may have less
  uint32_t count;                        // 0: all of it is there
  uint32_t stamp;
  cuda::EventName events[kMost];
};
enum class Way : uint32_t { kNone = 0, kPipeline = 1, kBothEnds = 2, kPieces = 3, kPut = 4 };
struct Go {
  uint64_t sender;
  uint64_t receiver;
  uint64_t bytes;    // how many the receiver takes
  uint64_t address;  // kBothEnds, kPut: where they go
  Way way;
  uint32_t reserved;
};
struct DataPrefix {
  uint64_t receiver;
  uint64_t offset;
};
struct Done {
  uint64_t sender;
  uint64_t error;  // MPI error class
};
struct ContextTold {
  LongContext id;
  uint64_t index;
};
/// Done::error of a message that was withdrawn: no class of MPI.
inline constexpr uint64_t kWithdrawn = UINT64_MAX;
struct Withdraw {
  uint64_t sender;
};
struct Landed {
  uint64_t receiver;
};
struct Failed {
  uint64_t receiver;
  uint64_t error;  // MPI error class
};
struct Pace {
  uint64_t eager;  // nonzero: as usual; zero: announcements only
};

/// The class of a failure that a peer tells of; MPI_ERR_OTHER for a word that is no error class.
inline int class_from(uint64_t told) noexcept {
  return told == MPI_SUCCESS || told >= MPI_ERR_LASTCODE ? MPI_ERR_OTHER : static_cast<int>(told);
}

/// The header's context: index and plane in one word.
inline uint32_t context_word(uint32_t index, uint32_t plane) noexcept { return index << 2 | plane; }

}  // namespace tern::pml::wire
