// SPDX-License-Identifier: Apache-2.0
// Port: libfabric's objects of one channel: domain, completion queue, addresses, endpoint, send
// blocks, receive buffers.
// Lifetime: Ofi. Threads: under the channel's lock; each channel has a domain, so libfabric needs
// no locks. Errors: the constructor throws Error.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "btl/net/blocks.hpp"
#include "btl/ofi/fabric.hpp"

namespace tern::btl::ofi {

using net::Block;
using net::Origin;
using net::WireHead;
class OfiEndpoint;

/// Returned by libfabric with a completion; holds libfabric's state until then.
struct Context {
  fi_context2 libfabrics;  // first, so that both have one address
  bool receives;
};

/// A frame under way.
struct Sending : Context {
  Sending* next;
  OfiEndpoint* endpoint;
  Block* block;          // null: sends `front` and the caller's data
  size_t bytes;          // payload in the block
  Operation* operation;  // of a ZeroCopy frame
  std::array<std::byte, sizeof(WireHead) + ZeroCopy::kMostPrefix> front;
};

/// A buffer for many frames, or for one.
struct Receive : Context {
  std::byte* memory;
  size_t taken;   // bytes of received frames
  size_t end;     // end of the last received frame
  bool released;  // libfabric adds no more frames

  void count(size_t offset, size_t bytes) noexcept {
    taken += bytes;
    end = std::max(end, offset + bytes);
  }
  /// Whether all frames have arrived. Providers that release early may still be receiving frames of
  /// other peers at lower addresses.
  [[nodiscard]] bool is_empty(bool in_order) const noexcept {
    return released && (in_order || taken >= end);
  }
};

class Port {
 public:
  /// `sleeps`: open a descriptor that signals events.
  Port(std::shared_ptr<const Fabric> fabric, bool sleeps);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  [[nodiscard]] fid_ep* ep() const noexcept { return ep_.get(); }
  [[nodiscard]] fid_cq* cq() const noexcept { return cq_.get(); }
  /// Throws Error.
  [[nodiscard]] std::string address() const;
  /// Returns the number of the peer with this address. Throws Error.
  [[nodiscard]] fi_addr_t insert(const std::string& address);
  /// Descriptor for sending from blocks.
  [[nodiscard]] void* blocks_key() const noexcept {
    return blocks_registered_ == nullptr ? nullptr : ::fi_mr_desc(blocks_registered_.get());
  }
  /// Posts a receive buffer. Returns false if the caller must retry.
  [[nodiscard]] bool post(Receive& receive) noexcept;
  /// Posts all buffers once.
  void post_all();
  /// Signals events; -1 if the provider has no descriptor.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Whether the caller may sleep on the descriptor now.
  [[nodiscard]] bool may_sleep() noexcept;

  const std::shared_ptr<const Fabric> fabric;
  const Library& fi;
  static constexpr size_t kPayload = kMostPayload;
  static constexpr size_t kBlocks = 128;
  static constexpr size_t kMaxZeroCopy = 64 << 10;
  static constexpr size_t kSendings = kBlocks + 256;
  static constexpr size_t kMostFrame = sizeof(WireHead) + ZeroCopy::kMostPrefix + kMaxZeroCopy;
  static constexpr size_t kReceivedBytes = 4 << 20, kBuffersForMany = 4;
  net::Blocks blocks{kBlocks, kPayload};
  net::Pool<Sending> sendings{kSendings};
  /// Limit of fi_inject(), including the head.
  size_t inject_bytes = 0;
  /// See ZeroCopy::max_bytes; 0 if data needs registration.
  size_t zero_copy_bytes = 0;
  /// An endpoint has failed and awaits handling.
  bool has_failures = false;
  /// No more calls of the sink.
  bool sink_gone = false;
  /// Buffers to repost when libfabric has room.
  std::vector<Receive*> unposted;
  /// Endpoints with frames to send when libfabric has room.
  std::vector<OfiEndpoint*> stalled;

 private:
  void open_queue(bool sleeps);
  void open_endpoint();
  void divide_buffers();
  [[nodiscard]] Fid<fid_mr> register_memory(void* memory, size_t bytes, uint64_t access,
                                            uint64_t key);

  std::unique_ptr<std::byte[]> receives_memory_{new std::byte[kReceivedBytes]};
  std::vector<Receive> receives_;
  size_t receive_bytes_ = 0;  // of each buffer
  int descriptor_ = -1;
  // Closed in reverse order.
  Fid<fid_domain> domain_;
  Fid<fid_cq> cq_;
  Fid<fid_av> av_;
  Fid<fid_mr> blocks_registered_, receives_registered_;
  Fid<fid_ep> ep_;
};

}  // namespace tern::btl::ofi
