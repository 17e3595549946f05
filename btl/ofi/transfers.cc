// SPDX-License-Identifier: Apache-2.0
// Transfers: local memory, and libfabric's calls.
#include "btl/ofi/transfers.hpp"

#include <algorithm>
#include <cstring>

namespace tern::btl::ofi {
namespace {

// EFA writes and reads in software on older adapters. libfabric 1.17 lacks some of the names.
bool is_emulated(fid_ep* ep) noexcept {
  constexpr int kEfa = -(0xefa << 16), kEmulatedRead = kEfa + 1, kEmulatedWrite = kEfa + 2;
  for (const int option : {kEmulatedRead, kEmulatedWrite}) {
    bool emulated = true;
    size_t bytes = sizeof emulated;
    if (::fi_getopt(&ep->fid, FI_OPT_ENDPOINT, option, &emulated, &bytes) != 0 || emulated)
      return true;
  }
  return false;
}

void* device_key_of(const LocalMemory& local) noexcept {
  if (local.on_device == nullptr) return nullptr;
  const auto& lease = static_cast<const net::DeviceLease&>(*local.on_device);
  return descriptor_of(static_cast<const OfiRegion&>(lease.region()).get());
}

}  // namespace

Transfers::Transfers(const Fabric& fabric, fid_domain* domain, fid_ep* ep,
                     net::FrameBuffers& blocks)
    : regions(std::make_shared<Regions>(fabric.fi, *fabric.info(), domain, ep)),
      fabric_(fabric),
      ep_(ep),
      blocks_(blocks) {
  paused.reserve(kTransfers);
}

bool Transfers::offloaded() const noexcept {
  const std::string& provider = fabric_.provider();
  return provider == "verbs;ofi_rxm" || provider == "cxi" ||
         (provider == "efa" && !is_emulated(ep_));
}

Transfer* Transfers::take(Transfer::Kind kind, const LocalMemory& local) noexcept {
  Transfer* const transfer = pool_.take();
  if (transfer == nullptr) return nullptr;
  transfer->of = CompletionContext::Of::kTransfer;
  transfer->kind = kind;
  transfer->begun = false;
  const bool flushes = kind == Transfer::Kind::kFlush;
  transfer->local = flushes ? &transfer->landing : static_cast<std::byte*>(local.address);
  transfer->left = local.bytes;
  transfer->block = nullptr;
  transfer->registered = nullptr;
  transfer->device_key = device_key_of(local);
  if (local.on_device != nullptr) return transfer;
  if (!fabric_.wants_registration() || provide_local(*transfer)) return transfer;
  pool_.give_back(*transfer);
  return nullptr;
}

// A block serves small data, and all data once no more memory can be registered.
bool Transfers::provide_local(Transfer& transfer) noexcept {
  if (transfer.left == 0) return true;
  const uint64_t access = transfer.kind == Transfer::Kind::kPut ? FI_WRITE : FI_READ;
  if (transfer.left > kMostCopied && regions->open_within_limit({transfer.local, transfer.left},
                                                                access, &transfer.registered) == 0)
    return true;
  transfer.block = blocks_.take();
  return transfer.block != nullptr;
}

ssize_t Transfers::post(Transfer& transfer, fi_addr_t to) noexcept {
  const bool puts = transfer.kind == Transfer::Kind::kPut;
  const size_t most = transfer.block == nullptr ? SIZE_MAX : kMostPayload;
  transfer.piece = std::min({transfer.left, most, fabric_.info()->ep_attr->max_msg_size});
  void* memory = transfer.local;
  void* key =
      transfer.device_key != nullptr ? transfer.device_key : descriptor_of(transfer.registered);
  if (transfer.block != nullptr) {
    memory = transfer.block->payload;
    key = blocks_key;
    if (puts) std::memcpy(memory, transfer.local, transfer.piece);
  }
  const iovec local{memory, transfer.piece};
  const fi_rma_iov remote{transfer.remote, transfer.piece, transfer.key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &key;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = static_cast<CompletionContext*>(&transfer);
  if (!puts) return ::fi_readmsg(ep_, &message, FI_COMPLETION);
  const bool delivers = fabric_.flush_by() == FlushBy::kDelivery;
  return ::fi_writemsg(ep_, &message, FI_COMPLETION | (delivers ? FI_DELIVERY_COMPLETE : 0));
}

void Transfers::give_back(Transfer& transfer) noexcept {
  if (transfer.registered != nullptr) regions->close(transfer.registered);
  if (transfer.block != nullptr) blocks_.give_back(*transfer.block);
  pool_.give_back(transfer);
}

}  // namespace tern::btl::ofi
