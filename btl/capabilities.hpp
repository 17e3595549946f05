// SPDX-License-Identifier: Apache-2.0
// Capabilities of an endpoint besides sending frames, listed in Caps.
// Completion: PeerCopy completes on return. After Start::kStarted, progress() calls Sink::done()
// when all parts of the Operation have ended.
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

/// An Operation must not move while `left` is not 0. The caller sets `owner`, or polls `left`, and
/// clears `failed`.
struct Operation {
  uint32_t left = 0;    // unfinished parts
  bool failed = false;  // the data of a part is not there, because the peer is lost
  void* owner = nullptr;
};

enum class Start : uint8_t {
  kNoRoom,
  kStarted,
  kDone,
  kRefused,  // nothing began: the adapter cannot use the caller's memory
};

/// A FrameQueue has the frames of one peer. Without a queue, frames arrive in Btl::progress() only.
class FrameQueue {
 public:
  /// peek() returns the same frame until pop().
  [[nodiscard]] virtual bool peek(Frame* frame) noexcept = 0;
  virtual void pop() noexcept = 0;

 protected:
  ~FrameQueue() = default;
};

class ZeroCopy {
 public:
  explicit ZeroCopy(size_t most) noexcept : max_bytes(most) {}
  const size_t max_bytes;
  static constexpr size_t kMostPrefix = 96;
  /// The payload is `prefix` (at most kMostPrefix bytes, copied) and `data`, unchanged until the
  /// operation is done.
  [[nodiscard]] virtual Start start_send(const Header& header, const iovec& prefix,
                                         const iovec& data, Operation& operation) noexcept = 0;

 protected:
  ~ZeroCopy() = default;
};

class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  static constexpr size_t kMostKey = 256;
  /// key() is empty if the key is too long for a peer.
  [[nodiscard]] virtual std::span<const std::byte> key() const noexcept = 0;
};
class RemoteKey {
 public:
  virtual ~RemoteKey() = default;
};

/// Memory at this end of a put or get.
struct LocalMemory {
  LocalMemory(void* at, size_t size, const MemoryRegion* device = nullptr) noexcept
      : address(at), bytes(size), on_device(device) {}
  LocalMemory(const iovec& host) noexcept  // NOLINT(google-explicit-constructor)
      : LocalMemory(host.iov_base, host.iov_len) {}
  void* address;
  size_t bytes;
  const MemoryRegion* on_device;  // of register_device(); null: host memory
};

class Rdma {
 public:
  explicit Rdma(bool by_network) noexcept : offloaded(by_network) {}
  bool offloaded;  // RDMA, without the peer's processor
  /// register_memory() returns null if the adapter refuses the memory.
  [[nodiscard]] virtual std::unique_ptr<MemoryRegion> register_memory(void* address,
                                                                      size_t bytes) noexcept = 0;
  /// As register_memory(), for a block of device memory (GPUDirect RDMA).
  [[nodiscard]] virtual std::unique_ptr<MemoryRegion> register_device(
      const iovec& /*block*/) noexcept {
    return nullptr;
  }
  [[nodiscard]] virtual std::unique_ptr<RemoteKey> import_key(
      std::span<const std::byte> key) noexcept = 0;
  /// Puts are unordered. The source may be reused when the operation is done.
  [[nodiscard]] virtual Start start_put(const RemoteKey& key, uint64_t address,
                                        const LocalMemory& from, Operation& operation) noexcept = 0;
  /// The data is in `into` when the operation is done. Gets are unordered.
  [[nodiscard]] virtual Start start_get(const RemoteKey& key, uint64_t address,
                                        const LocalMemory& into, Operation& operation) noexcept = 0;
  /// A flush is done when all earlier puts are in the peer's memory. No flush is refused.
  [[nodiscard]] virtual Start start_flush(Operation& operation) noexcept = 0;

 protected:
  ~Rdma() = default;
};

class PeerCopy {
 public:
  [[nodiscard]] virtual bool works() noexcept = 0;
  /// get() returns 0 or an errno. A call takes at most 1,024 memory pieces and 0x7ffff000 bytes.
  [[nodiscard]] virtual int get(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;
  [[nodiscard]] virtual int put(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;

 protected:
  ~PeerCopy() = default;
};

class Claims {
 public:
  [[nodiscard]] virtual SharedClaims* open(uint32_t* name) noexcept = 0;
  virtual void close(uint32_t name) noexcept = 0;
  [[nodiscard]] virtual SharedClaims* find(uint32_t name) noexcept = 0;
  /// Wakes the peer if it sleeps, after a change of shared claims.
  virtual void wake_peer() noexcept = 0;

 protected:
  ~Claims() = default;
};

}  // namespace tern::btl
