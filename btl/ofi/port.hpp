// SPDX-License-Identifier: Apache-2.0
// Port: libfabric's objects of one channel: domain, completion queue, addresses, endpoint; what it
// sends from and receives into.
// Lifetime: Ofi. Threads: under the channel's lock: a domain of its own for each channel, so that
// libfabric needs no locks. Errors: the constructor throws Error.
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

/// What libfabric gives back with a completion: where it keeps words of its own until then.
struct Context {
  fi_context2 libfabrics;  // first: its address is the context's
  bool receives;
};

/// A frame that is under way.
struct Sending : Context {
  Sending* next;
  OfiEndpoint* endpoint;
  Block* block;          // which it sends; null: `front`, and data of the caller
  size_t bytes;          // of the block, behind its head
  Operation* operation;  // the caller's
  std::array<std::byte, sizeof(WireHead) + ZeroCopy::kMostPrefix> front;
};

/// A buffer for many frames, or for one.
struct Receive : Context {
  std::byte* memory;
  size_t taken;   // bytes of frames that are here
  size_t end;     // of the last of them
  bool released;  // libfabric puts no further frame there

  void count(size_t offset, size_t bytes) noexcept {
    taken += bytes;
    end = std::max(end, offset + bytes);
  }
  /// Whether none is on its way there any more. A provider that says so frame by frame may be ahead
  /// of frames of other peers, further in front, that it still receives.
  [[nodiscard]] bool is_empty(bool in_order) const noexcept {
    return released && (in_order || taken >= end);
  }
};

class Port {
 public:
  /// `sleeps`: whether a descriptor that tells of events is worth its cost.
  Port(std::shared_ptr<const Fabric> fabric, bool sleeps);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  [[nodiscard]] fid_ep* ep() const noexcept { return ep_.get(); }
  [[nodiscard]] fid_cq* cq() const noexcept { return cq_.get(); }
  /// Of this port, as bytes. Throws Error.
  [[nodiscard]] std::string address() const;
  /// The number of a peer whose address() this is. Throws Error.
  [[nodiscard]] fi_addr_t insert(const std::string& address);
  /// What libfabric needs to read blocks.
  [[nodiscard]] void* blocks_key() const noexcept {
    return blocks_registered_ == nullptr ? nullptr : ::fi_mr_desc(blocks_registered_.get());
  }
  /// Lets frames be received there. To be tried again where false.
  [[nodiscard]] bool post(Receive& receive) noexcept;
  /// All buffers, at first.
  void post_all();
  /// The descriptor that tells of events, where there is one; else -1.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Whether its owner may sleep on the descriptor now.
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
  /// Bytes of a frame, with its head, that are sent at once, from anywhere.
  size_t inject_bytes = 0;
  /// See ZeroCopy::max_bytes; 0: the data would have to be registered.
  size_t zero_copy_bytes = 0;
  /// An endpoint has failed, and nothing has been done about it yet.
  bool has_failures = false;
  /// What ends from now on is told to no sink.
  bool sink_gone = false;
  /// Buffers that libfabric had no room for.
  std::vector<Receive*> unposted;
  /// Endpoints with frames that libfabric had no room for.
  std::vector<OfiEndpoint*> stalled;

 private:
  void open_queue(bool sleeps);
  void open_endpoint();
  void divide_buffers();
  [[nodiscard]] Fid<fid_mr> register_memory(void* memory, size_t bytes, uint64_t access,
                                            uint64_t key);

  std::unique_ptr<std::byte[]> receives_memory_{new std::byte[kReceivedBytes]};
  std::vector<Receive> receives_;
  size_t receive_bytes_ = 0;  // of each
  int descriptor_ = -1;
  // Closed in the reverse order.
  Fid<fid_domain> domain_;
  Fid<fid_cq> cq_;
  Fid<fid_av> av_;
  Fid<fid_mr> blocks_registered_, receives_registered_;
  Fid<fid_ep> ep_;
};

}  // namespace tern::btl::ofi
