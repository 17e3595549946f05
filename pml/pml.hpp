// SPDX-License-Identifier: Apache-2.0
// Pml: point-to-point messages.
// Threads: one Pml per channel. Calls take the channel's lock; callers of *_locked, interrupt(),
// add_up() and describe_open() hold the lock already, callers of add_context() may hold any lock.
// Ordering: messages of the same communicator, plane, source and destination match in send order.
// Completion: requests complete in progress, with an error class and a text.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/wait_report.hpp"
#include "btl/device.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/device_copy.hpp"
#include "core/process.hpp"
#include "core/request.hpp"

namespace tern::btl {
class Endpoint;
}
namespace tern::pml {

/// A plane is a separate matching space of a communicator.
enum class Plane : uint32_t { kUser = 0, kCollective = 1, kPartitioned = 2, kInternal = 3 };

/// Messages that refuse a collective have this tag, counted by core::Channel.
inline constexpr int kRefusalTag = INT_MIN;

enum class Mode : uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// The pml looks up a Buffer's unknown memory kind.
using Buffer = core::Data;

/// Callers handle MPI_PROC_NULL.
struct Envelope {
  core::Communicator* communicator = nullptr;
  int rank = 0;
  int tag = 0;
  Plane plane = Plane::kUser;
};

struct Statistics {
  uint64_t eager = 0, eager_bytes = 0;
  uint64_t announced = 0, announced_bytes = 0;                       // sent by RTS; of these:
  uint64_t in_fragments = 0, by_both_ends = 0, written_by_rdma = 0;  // the receiver reads the rest,
  uint64_t read_by_rdma = 0;                                         // of which these by RDMA
  uint64_t received = 0;
  uint64_t unexpected = 0;
  uint64_t kept = 0, kept_bytes = 0, most_kept = 0;  // in the queue now, and the maximum
  uint64_t posted = 0;
};

struct EarlyMessage {
  uint32_t context;
  uint32_t peer;
  int32_t tag;
  uint64_t bytes;
};
class EarlyWatcher {
 public:
  virtual ~EarlyWatcher() = default;
  /// The caller holds the lock; came_early() must not call MPI.
  virtual void came_early(const EarlyMessage& message) noexcept = 0;
};

struct Message;
using MemoryHandle = btl::MemoryHandle;
using MappedPeerMemory = btl::MappedPeerMemory;

/// Matched is an MPI_Message.
class Matched final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kMessage;
  Matched(const Envelope& envelope, Message& taken) noexcept
      : Object(kKind), from(envelope), message(taken) {}
  const Envelope from;
  Message& message;
  uint64_t number = 0;  // trace::Record::number
};

class Pml {
 public:
  virtual ~Pml() = default;

  [[nodiscard]] virtual int send(const Buffer& buffer, const Envelope& to, Mode mode) noexcept = 0;
  [[nodiscard]] virtual int recv(const Buffer& buffer, const Envelope& from,
                                 core::Outcome* outcome) noexcept = 0;

  /// On success, the caller owns a reference to *request, possibly complete and shared.
  [[nodiscard]] virtual int isend(const Buffer& buffer, const Envelope& to, Mode mode,
                                  core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int irecv(const Buffer& buffer, const Envelope& from,
                                  core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int isend_locked(const Buffer& buffer, const Envelope& to,
                                         core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int irecv_locked(const Buffer& buffer, const Envelope& from,
                                         core::Request** request) noexcept = 0;
  /// isend_lost_locked() reports lost data: the matching receive and *request fail with class
  /// `error`.
  [[nodiscard]] virtual int isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                                              core::Request** request) noexcept = 0;

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
  [[nodiscard]] virtual int send_init(const Buffer& buffer, const Envelope& to, Mode mode,
                                      core::Request** request) noexcept = 0;
  [[nodiscard]] virtual int recv_init(const Buffer& buffer, const Envelope& from,
                                      core::Request** request) noexcept = 0;

  [[nodiscard]] virtual int iprobe(const Envelope& from, bool* found,
                                   core::Outcome* outcome) noexcept = 0;
  [[nodiscard]] virtual int probe(const Envelope& from, core::Outcome* outcome) noexcept = 0;

  /// The caller owns *matched (null if no message matches) until imrecv.
  [[nodiscard]] virtual int improbe(const Envelope& from, Matched** matched,
                                    core::Outcome* outcome) noexcept = 0;
  [[nodiscard]] virtual int mprobe(const Envelope& from, Matched** matched,
                                   core::Outcome* outcome) noexcept = 0;
  [[nodiscard]] virtual int imrecv(const Buffer& buffer, Matched& matched,
                                   core::Request** request) noexcept = 0;

  /// offer() names device memory for other ranks of this host, and returns false if the memory is
  /// unshareable.
  [[nodiscard]] virtual bool offer(cuda::Device& /*device*/, const void* /*address*/,
                                   size_t /*bytes*/, MemoryHandle* /*handle*/) noexcept {
    return false;
  }
  /// avoid() makes map() refuse memory of device `of` on `device`, after wrong data.
  virtual void avoid(const cuda::Uuid& /*device*/, const cuda::Uuid& /*of*/) {}
  [[nodiscard]] virtual bool avoids(const cuda::Uuid& /*device*/,
                                    const cuda::Uuid& /*of*/) const noexcept {
    return false;
  }
  [[nodiscard]] virtual std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& /*handle*/,
                                                              cuda::Device& /*device*/) noexcept {
    return nullptr;
  }

  /// endpoint() connects to the rank; null, with *error and fail() text, if the rank is unreachable
  /// or lost. The caller holds the lock.
  [[nodiscard]] virtual btl::Endpoint* endpoint(core::Communicator& /*of*/, int /*rank*/,
                                                int* /*error*/) noexcept {
    return nullptr;
  }

  /// interrupt() ends all requests and probes on the communicator, present and future, with `why`.
  virtual void interrupt(core::Communicator& communicator, const Failure& why) noexcept = 0;
  /// lose() takes all complete messages of a failed process, then ends all operations that may wait
  /// for the process.
  virtual void lose(uint32_t /*peer_index*/, const Failure& /*why*/) noexcept {}
  /// After an acknowledgement, receives from any source are active again.
  virtual void resume_pending(core::Communicator& /*of*/) noexcept {}
  /// Returns false if the rank is unreachable.
  virtual bool tell_revoked(core::Communicator& /*of*/, int /*rank*/,
                            const core::ContextId& /*revoked*/) noexcept {
    return false;
  }
  /// Calls use() for each communicator of the channel.
  virtual void for_communicators(const std::function<void(core::Communicator&)>& /*use*/) {}

  virtual void add_context(core::Communicator& communicator) = 0;
  virtual void remove_context(core::Communicator& communicator) noexcept = 0;

  /// add_up() covers all communicators, or one.
  virtual void add_up(const core::Communicator* of, Statistics* sums) const noexcept = 0;
  /// The watcher must outlive the Pml.
  virtual void watch_early(EarlyWatcher* watcher) noexcept = 0;

  virtual void describe_open(WaitReport* report) const = 0;
};

}  // namespace tern::pml
