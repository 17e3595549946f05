// SPDX-License-Identifier: Apache-2.0
// Transfers: puts, gets and flushes of a port's endpoints, handed to libfabric piece by piece.
#pragma once

#include <memory>
#include <vector>

#include "btl/net/blocks.hpp"
#include "btl/net/device_cache.hpp"
#include "btl/ofi/regions.hpp"

namespace tern::btl::ofi {

class OfiEndpoint;

struct CompletionContext {
  enum class Of : uint8_t { kReceive, kSending, kTransfer };
  fi_context2 libfabrics;  // first member, so a context has the same address
  Of of;
};

struct Transfer : CompletionContext {
  enum class Kind : uint8_t { kPut, kGet, kFlush };
  Transfer* next;
  Transfer *older, *newer;
  OfiEndpoint* endpoint;
  Operation* operation;
  Kind kind;
  bool begun;         // of a flush: the read is posted
  std::byte landing;  // of a flush: the byte read
  std::byte* local;
  uint64_t remote, key;
  size_t left, piece;
  net::FrameBuffer* block;  // pieces go through a block
  fid_mr* registered;       // closed at the end
  void* device_key;         // of device memory, which its region keeps

  void take_piece() noexcept {
    local += piece;
    remote += piece;
    left -= piece;
  }
};

/// The unfinished puts and flushes of an endpoint, in the order of their start.
class TransferOrder {
 public:
  void add(Transfer& one) noexcept {
    one.older = newest_;
    one.newer = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer) = &one;
    newest_ = &one;
  }
  void remove(Transfer& one) noexcept {
    (one.older == nullptr ? oldest_ : one.older->newer) = one.newer;
    (one.newer == nullptr ? newest_ : one.newer->older) = one.older;
  }
  [[nodiscard]] Transfer* oldest() const noexcept { return oldest_; }

 private:
  Transfer* oldest_ = nullptr;
  Transfer* newest_ = nullptr;
};

class Transfers {
 public:
  Transfers(const Fabric& fabric, fid_domain* domain, fid_ep* ep, net::FrameBuffers& blocks);
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { regions->close_all(); }

  /// Whether adapters put and get without the peer's processor.
  [[nodiscard]] bool offloaded() const noexcept;
  /// Null: no room.
  [[nodiscard]] Transfer* take(Transfer::Kind kind, const LocalMemory& local) noexcept;
  /// post() returns libfabric's result.
  [[nodiscard]] ssize_t post(Transfer& transfer, fi_addr_t to) noexcept;
  void give_back(Transfer& transfer) noexcept;
  [[nodiscard]] size_t away() const noexcept { return pool_.away(); }

  const std::shared_ptr<Regions> regions;
  std::shared_ptr<net::DeviceCache> devices;
  void* blocks_key = nullptr;
  std::vector<Transfer*> paused;  // libfabric's queue had no room for the next piece
  static constexpr size_t kTransfers = 256;
  /// Copying up to this size costs less than registration.
  static constexpr size_t kMostCopied = 4096;

 private:
  [[nodiscard]] bool provide_local(Transfer& transfer) noexcept;

  const Fabric& fabric_;
  fid_ep* const ep_;
  net::FrameBuffers& blocks_;
  net::FreeList<Transfer> pool_{kTransfers};
};

}  // namespace tern::btl::ofi
