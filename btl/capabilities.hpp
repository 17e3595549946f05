// SPDX-License-Identifier: Apache-2.0
// Capabilities of an endpoint beside sending frames: one interface each. Caps points to them.
// Why: a transport implements its own capabilities alone.
// Completion: PeerCopy on return. ZeroCopy and Rdma return a Start: after kStarted, progress()
// hands the Operation to Sink::done() when all its parts have ended. Lifetime: Endpoint. Threads:
// under the channel's lock.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tern::btl {

struct Frame;
struct Header;
struct SharedClaims;

/// A caller's memory in use by transports, until Sink::done(). The caller sets `owner`, and keeps
/// the address of the operation while `left` is not 0.
struct Operation {
  uint32_t left = 0;  // parts under way, counted by the transport
  void* owner = nullptr;
};

/// The answer of a transport to a part of an Operation.
enum class Start : uint8_t {
  kNoRoom,   // not started: try again after progress
  kStarted,  // under way, counted in Operation::left
  kDone,     // ended already, not counted
};

/// The arrived frames of one peer, for a caller in wait for this peer alone. Without a queue,
/// frames come in Btl::progress() only.
class FrameQueue {
 public:
  /// The next frame, the same until pop(); false where the queue is empty.
  [[nodiscard]] virtual bool peek(Frame* frame) noexcept = 0;
  virtual void pop() noexcept = 0;

 protected:
  ~FrameQueue() = default;
};

/// Frames with their data in the caller's memory.
class ZeroCopy {
 public:
  explicit ZeroCopy(size_t most) noexcept : max_bytes(most) {}
  const size_t max_bytes;  // of data in a frame
  static constexpr size_t kMostPrefix = 96;
  /// Sends a frame, in the order of the endpoint's other frames. The payload is `prefix` (at most
  /// kMostPrefix bytes, copied) and then `data`. `data` stays unchanged until the operation is
  /// done.
  [[nodiscard]] virtual Start start_send(const Header& header, const iovec& prefix,
                                         const iovec& data, Operation& operation) noexcept = 0;

 protected:
  ~ZeroCopy() = default;
};

/// Registered memory of this process. One peer may write to it during the lifetime of this object.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  static constexpr size_t kMostKey = 256;
  /// The peer imports it: bytes of the transport's own format.
  [[nodiscard]] virtual std::span<const std::byte> key() const noexcept = 0;
};
/// The imported key of a peer's region. The caller keeps the key until the end of its puts.
class RemoteKey {
 public:
  virtual ~RemoteKey() = default;
};

/// Remote direct memory access: puts into registered memory of the peer.
class Rdma {
 public:
  explicit Rdma(bool by_network) noexcept : offloaded(by_network) {}
  const bool offloaded;  // the network writes, without the peer's processor
  /// Null where the memory cannot be registered.
  [[nodiscard]] virtual std::unique_ptr<MemoryRegion> register_memory(void* address,
                                                                      size_t bytes) noexcept = 0;
  /// Null where no region of the peer has this key.
  [[nodiscard]] virtual std::unique_ptr<RemoteKey> import_key(
      std::span<const std::byte> key) noexcept = 0;
  /// Writes to the peer's memory, in no order with anything else. Done: the source may be reused.
  [[nodiscard]] virtual Start start_put(const RemoteKey& key, uint64_t address, const iovec& from,
                                        Operation& operation) noexcept = 0;
  /// Done: all earlier puts are in the peer's memory.
  [[nodiscard]] virtual Start start_flush(Operation& operation) noexcept = 0;

 protected:
  ~Rdma() = default;
};

/// Copies between own memory and the peer's by the calling thread.
class PeerCopy {
 public:
  /// The first call tries one copy, and explains a refusal.
  [[nodiscard]] virtual bool works() noexcept = 0;
  /// 0 or an errno. At most 1,024 pieces and 0x7ffff000 bytes a call.
  [[nodiscard]] virtual int get(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;
  [[nodiscard]] virtual int put(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;

 protected:
  ~PeerCopy() = default;
};

/// Claim pairs in shared memory of both ends.
class Claims {
 public:
  /// Null, and the name 0, where all pairs of this end are taken.
  [[nodiscard]] virtual SharedClaims* open(uint32_t* name) noexcept = 0;
  virtual void close(uint32_t name) noexcept = 0;
  /// The peer's pair of this name; null for a wrong name.
  [[nodiscard]] virtual SharedClaims* find(uint32_t name) noexcept = 0;
  /// Wakes a sleeping peer after a change of a pair.
  virtual void wake_peer() noexcept = 0;

 protected:
  ~Claims() = default;
};

}  // namespace tern::btl
