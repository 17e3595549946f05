// SPDX-License-Identifier: Apache-2.0
// Port: libfabric's objects of a channel. Each channel has a domain, so libfabric needs no locks.
// Errors: the constructor throws Error.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "btl/net/blocks.hpp"
#include "btl/net/sockets.hpp"
#include "btl/ofi/fabric.hpp"
#include "btl/ofi/transfers.hpp"

namespace tern::btl::ofi {

using net::FrameBuffer;
using net::Origin;
using net::WireHead;
struct Sending : CompletionContext {
  Sending* next;
  OfiEndpoint* endpoint;
  FrameBuffer* block;  // null: sends `front` and the caller's data
  size_t bytes;
  Operation* operation;
  std::array<std::byte, sizeof(WireHead) + ZeroCopy::kMostPrefix> front;
};

struct Receive : CompletionContext {
  std::byte* memory;
  size_t taken;
  size_t end;
  bool released;

  void count(size_t offset, size_t bytes) noexcept {
    taken += bytes;
    end = std::max(end, offset + bytes);
  }
  /// A buffer is empty when all frames have arrived. Providers with early release may still receive
  /// at lower addresses.
  [[nodiscard]] bool is_empty(bool in_order) const noexcept {
    return released && (in_order || taken >= end);
  }
};

class Port {
 public:
  Port(std::shared_ptr<const Fabric> fabric, bool sleeps, int64_t timeout_us);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  [[nodiscard]] fid_ep* ep() const noexcept { return ep_.get(); }
  [[nodiscard]] fid_cq* cq() const noexcept { return cq_.get(); }
  [[nodiscard]] std::string address() const;
  [[nodiscard]] fi_addr_t insert(const std::string& address);
  [[nodiscard]] bool post(Receive& receive) noexcept;
  void post_all();
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool may_sleep() noexcept;
  [[nodiscard]] bool is_quiet() const noexcept {
    return sendings.away() == 0 && transfers_->away() == 0;
  }
  [[nodiscard]] Transfers& transfers() noexcept { return *transfers_; }
  /// The limit of fi_inject(), with the head.
  [[nodiscard]] size_t inject_bytes() const noexcept {
    return fabric->info()->tx_attr->inject_size;
  }

  const std::shared_ptr<const Fabric> fabric;
  const Library& fi;
  static constexpr size_t kPayload = kMostPayload;
  static constexpr size_t kBlocks = 128;
  static constexpr size_t kMaxZeroCopy = 64 << 10;
  static constexpr size_t kSendings = kBlocks + 256;
  static constexpr size_t kMostFrame = sizeof(WireHead) + ZeroCopy::kMostPrefix + kMaxZeroCopy;
  static constexpr size_t kReceivedBytes = 4 << 20, kBuffersForMany = 4;
  net::FrameBuffers blocks{kBlocks, kPayload};
  net::FreeList<Sending> sendings{kSendings};
  /// See ZeroCopy::max_bytes; 0 if data needs registration.
  size_t zero_copy_bytes = 0;
  bool has_failures = false;
  bool sink_gone = false;
  std::vector<Receive*> unposted;
  std::vector<OfiEndpoint*> stalled;
  net::SocketWatch sockets;

 private:
  void open_queue(bool sleeps);
  void open_endpoint();
  void divide_buffers();
  [[nodiscard]] void* register_memory(const iovec& memory, uint64_t access);

  std::unique_ptr<std::byte[]> receives_memory_{new std::byte[kReceivedBytes]};
  std::vector<Receive> receives_;
  size_t receive_bytes_ = 0;
  int descriptor_ = -1;
  // Members are closed in reverse order.
  Fid<fid_domain> domain_;
  Fid<fid_cq> cq_;
  Fid<fid_av> av_;
  void* receives_key_ = nullptr;
  Fid<fid_ep> ep_;
  std::optional<Transfers> transfers_;
};

}  // namespace tern::btl::ofi
