// SPDX-License-Identifier: Apache-2.0
// Pml: point-to-point messages: matching, protocols, requests.
// Why: api and coll speak of buffers and ranks; transports of frames. This room is between them.
// Life cycle: made by api::Runtime after boot and transports; ended after the last request.
// Threads: one Pml for each channel; every call takes the channel's lock itself where threads may
// be many (calls named *_locked expect it held: coll's engine runs inside progress). Ordering:
// messages of one (communicator, plane, source, destination) match in the order they were sent.
// Completion: isend/irecv give a request that completes in progress; a request carries error class
// and text. See: tests/unit/pml/, pml/README.md.
#pragma once

#include <climits>
#include <cstdint>
#include <memory>

#include "base/wait_report.hpp"
#include "btl/device.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/device_copy.hpp"
#include "core/process.hpp"
#include "core/request.hpp"

namespace tern::pml {

/// Separate matching spaces of one communicator; two bits on the wire.
enum class Plane : uint32_t { kUser = 0, kCollective = 1, kPartitioned = 2, kInternal = 3 };

/// Of messages that say that a rank takes no part in a collective; theirs are not negative.
/// core::Channel counts those that came.
inline constexpr int kRefusalTag = INT_MIN;

enum class Mode : uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// `count` elements of `type` at `address`. Of unknown kind: the pml asks.
using Buffer = core::Data;

/// To or from whom: the rank in the communicator (no MPI_PROC_NULL here: callers answer that), tag,
/// plane.
struct Envelope {
  core::Communicator* communicator = nullptr;
  int rank = 0;  // MPI_ANY_SOURCE allowed in receives
  int tag = 0;   // MPI_ANY_TAG allowed in receives
  Plane plane = Plane::kUser;
};

/// What has happened since the job was entered, of all planes and peers; for tools.
struct Statistics {
  uint64_t eager = 0, eager_bytes = 0;               // messages sent before the receive was known
  uint64_t announced = 0, announced_bytes = 0;       // larger ones, of these:
  uint64_t in_fragments = 0, by_both_ends = 0;       // the rest was read by the receiver
  uint64_t received = 0;                             // receives that ended
  uint64_t unexpected = 0;                           // messages that came before their receive
  uint64_t kept = 0, kept_bytes = 0, most_kept = 0;  // of these, here now; at most at once
  uint64_t posted = 0;                               // receives that wait for a message
};

/// A message that came before its receive, for an EarlyWatcher.
struct EarlyMessage {
  uint32_t context;  // index of its communicator, and the plane
  uint32_t peer;
  int32_t tag;
  uint64_t bytes;
};
class EarlyWatcher {
 public:
  virtual ~EarlyWatcher() = default;
  /// Lock held: calls nothing of MPI.
  virtual void came_early(const EarlyMessage& message) noexcept = 0;
};

struct Message;
using MemoryHandle = btl::MemoryHandle;
using MappedPeerMemory = btl::MappedPeerMemory;

/// A message that MPI_Mprobe or MPI_Improbe has taken from its queue (MPI_Message).
class Matched final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kMessage;
  Matched(const Envelope& envelope, Message& taken) noexcept
      : Object(kKind), from(envelope), message(taken) {}
  const Envelope from;  // of the probe: its communicator is kept
  Message& message;
};

class Pml {
 public:
  virtual ~Pml() = default;

  /// Blocking. Return an error class with fail() text.
  [[nodiscard]] virtual int send(const Buffer& buffer, const Envelope& to, Mode mode) noexcept = 0;
  [[nodiscard]] virtual int recv(const Buffer& buffer, const Envelope& from,
                                 core::Outcome* outcome) noexcept = 0;

  /// Nonblocking. On success *request has one reference for the caller (it may be complete already,
  /// and shared).
  [[nodiscard]] virtual int isend(const Buffer& buffer, const Envelope& to, Mode mode,
                                  core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int irecv(const Buffer& buffer, const Envelope& from,
                                  core::Request** request) noexcept = 0;
  /// The same for callers inside progress (the channel's lock is held): coll's host engine.
  [[nodiscard]] virtual int isend_locked(const Buffer& buffer, const Envelope& to,
                                         core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int irecv_locked(const Buffer& buffer, const Envelope& from,
                                         core::Request** request) noexcept = 0;
  /// A message whose data cannot come, because of `error`: its receive ends with that class, and so
  /// does *request.
  [[nodiscard]] virtual int isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                                              core::Request** request) noexcept = 0;

  /// What a persistent request of send_init or recv_init does each time; false for others.
  struct Repeated {
    Buffer buffer;
    Envelope envelope;
    Mode mode = Mode::kStandard;
    bool sends = false;
  };
  [[nodiscard]] virtual bool repeats(const core::Request& /*request*/,
                                     Repeated* /*what*/) const noexcept {
    return false;
  }
  /// Persistent: not started.
  [[nodiscard]] virtual int send_init(const Buffer& buffer, const Envelope& to, Mode mode,
                                      core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int recv_init(const Buffer& buffer, const Envelope& from,
                                      core::Request** request) noexcept = 0;

  /// *found says whether a matching message is there; outcome describes it.
  [[nodiscard]] virtual int iprobe(const Envelope& from, bool* found,
                                   core::Outcome* outcome) noexcept = 0;
  [[nodiscard]] virtual int probe(const Envelope& from, core::Outcome* outcome) noexcept = 0;

  /// MPI_Improbe and MPI_Mprobe: the message leaves the queue; *matched (null where none was found)
  /// has a handle and is the caller's until imrecv.
  [[nodiscard]] virtual int improbe(const Envelope& from, Matched** matched,
                                    core::Outcome* outcome) noexcept = 0;
  [[nodiscard]] virtual int mprobe(const Envelope& from, Matched** matched,
                                   core::Outcome* outcome) noexcept = 0;
  /// Receives a matched message; `matched` ends.
  [[nodiscard]] virtual int imrecv(const Buffer& buffer, Matched& matched,
                                   core::Request** request) noexcept = 0;

  /// Names a block of device memory for the other ranks of this host; false where it cannot be
  /// shared.
  [[nodiscard]] virtual bool offer(cuda::Device& /*device*/, const void* /*address*/,
                                   size_t /*bytes*/, MemoryHandle* /*handle*/) noexcept {
    return false;
  }
  /// What is mapped of one device on the other is wrong: map() gives none of it from now on.
  virtual void avoid(const cuda::Uuid& /*device*/, const cuda::Uuid& /*of*/) {}
  [[nodiscard]] virtual bool avoids(const cuda::Uuid& /*device*/,
                                    const cuda::Uuid& /*of*/) const noexcept {
    return false;
  }
  /// A block that another rank has named, for work of `device`; null where it cannot be mapped.
  [[nodiscard]] virtual std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& /*handle*/,
                                                              cuda::Device& /*device*/) noexcept {
    return nullptr;
  }

  /// Every request and probe on the communicator ends with an error, on all planes, and so does
  /// what begins later: it is set as interrupted. Lock held.
  virtual void interrupt(core::Communicator& communicator) noexcept = 0;

  /// A communicator came to life, or ends: messages for its context are matched, or refused. With
  /// any lock held, or none.
  virtual void add_context(core::Communicator& communicator) = 0;
  virtual void remove_context(core::Communicator& communicator) noexcept = 0;

  /// Of all, or (kept and posted only, of the user's plane) of one communicator. Lock held.
  virtual void add_up(const core::Communicator* of, Statistics* sums) const noexcept = 0;
  /// Null: no watcher. Any thread; the watcher is never deleted.
  virtual void watch_early(EarlyWatcher* watcher) noexcept = 0;

  /// Adds the operations under way to a report's words. Lock held.
  virtual void describe_open(WaitReport* report) const = 0;
};

}  // namespace tern::pml
