// SPDX-License-Identifier: Apache-2.0
// Format of a trace file: a head, then blocks of records or of definitions.
// Why: a file is readable up to its last whole block, whatever ended the job.
// See: src/trace/README.md.
#pragma once

#include <cstdint>

namespace tern::trace {

inline constexpr char kMagic[8] = {'T', 'E', 'R', 'N', 'T', 'R', 'C', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr uint32_t kBlockMagic = 0x4b4c4254;  // "TBLK"

struct FileHead {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t head_bytes;    // offset of the first block
  int64_t start_unix_ns;  // wall clock at the first process's start
};
static_assert(sizeof(FileHead) == 32);

enum class BlockKind : uint16_t {
  kDefinitions = 1,  // UTF-8 lines, see README.md; they apply to the block's process
  kRecords = 2,      // Record[bytes / 64] of one thread, by ascending end
};

/// Readers skip blocks of unknown kinds.
struct BlockHead {
  uint32_t magic;
  BlockKind kind;
  uint16_t flags;    // 0
  uint32_t process;  // index in this file; its line "process" comes first
  uint32_t thread;   // index in the process; 0: the first thread that called MPI
  uint64_t bytes;    // after this head, a multiple of 8 (definitions end with newlines)
  uint64_t lost;     // records dropped before this block's records
};
static_assert(sizeof(BlockHead) == 32);

enum class RecordKind : uint8_t {
  kCall = 1,         // any other call
  kSend,             // blocking send, or the send of MPI_Sendrecv
  kReceive,          // blocking receive, or the receive of MPI_Sendrecv
  kSendStart,        // start of a nonblocking or persistent send
  kReceiveStart,     // start of a nonblocking or persistent receive
  kWait,             // a call that may complete requests; its completions follow
  kSendDone,         // completion of a send by the kWait before it
  kReceiveDone,      // completion of a receive: source, tag, bytes of the status
  kCollective,       // blocking collective call
  kCollectiveStart,  // start of a nonblocking or persistent collective
  kCollectiveDone,   // completion of a collective by the kWait before it
  kProbe,            // MPI_Probe and the like; peer and tag of the status
  kOneSided,         // MPI_Put and the like: peer is the target
  kEpoch,            // fence, start, complete, post, wait, lock, unlock, flush
  kFile,             // file access: bytes moved
  kRegionBegin,      // MPIX_Trace_begin, begin == end; site is the label's number
  kRegionEnd,        // MPIX_Trace_end
  kDevice,           // run of an enqueued operation on its stream; request is its start's number
};

enum RecordFlags : uint8_t {
  kFailed = 1,  // the call returned an error; `detail` is the error class
  kCancelled = 2,
  kRendezvous = 4,  // the message waited for its receiver
  kPart = 8,        // a further record of one call (MPI_Sendrecv); times are the call's
  kWildcard = 16,   // the receive named MPI_ANY_SOURCE or MPI_ANY_TAG
  kOpenAtEnd = 32,  // the process ended inside the call; `end` is the last known time
  kStranger = 64,   // peer is a rank of the remote group of an inter-communicator
  kPolls = 128,     // `number` calls of MPI_Test, MPI_Iprobe and the like without a result
};

inline constexpr int32_t kNoPeer = -1;
inline constexpr int32_t kAnyPeer = -2;
inline constexpr int32_t kProcNull = -3;
inline constexpr int32_t kRootHere = -4;  // the root of a collective between two groups

/// Times are nanoseconds of the host's CLOCK_MONOTONIC; lines "clock" lead to the job's time.
struct Record {
  int64_t begin, end;
  uint16_t function;  // line "function"
  RecordKind kind;
  uint8_t flags;
  int32_t peer;      // rank in the communicator, or the root; or a constant above
  int32_t tag;       // -1: none
  uint32_t comm;     // line "comm"; 0: none
  int64_t bytes;     // sent or received by this process; -1: unknown
  uint32_t site;     // line "site"; 0: unknown
  uint32_t request;  // links a start with its completions; 0: none. Persistent: one per start
  uint64_t number;   // messages: n-th, from 1, of (comm, peer, tag) in this direction, by the
                     // order of matching; collectives: n-th call on the communicator; 0: unknown
  uint32_t detail;   // line "detail": transport, protocol, algorithm; 0: none
  uint32_t group;    // line "group": the members of `comm`; 0: unknown
};
static_assert(sizeof(Record) == 64);

}  // namespace tern::trace
