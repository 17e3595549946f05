// SPDX-License-Identifier: Apache-2.0
// OfiEndpoint: RDMA. A flush waits until all older puts have ended; if their ends do not tell of
// the peer's memory, a read of the last byte follows.
#include <cstring>
#include <utility>

#include "btl/ofi/endpoint.hpp"

namespace tern::btl::ofi {

using Kind = Transfer::Kind;

std::unique_ptr<MemoryRegion> OfiEndpoint::register_memory(void* address, size_t bytes) noexcept {
  fid_mr* region = nullptr;
  Regions& regions = *port_.transfers().regions;
  process_.registrations.asked.fetch_add(1, std::memory_order_relaxed);
  const int error =
      regions.open_within_limit({address, bytes}, FI_REMOTE_READ | FI_REMOTE_WRITE, &region);
  const uint64_t key = error == 0 ? ::fi_mr_key(region) : FI_KEY_NOTAVAIL;
  if (key == FI_KEY_NOTAVAIL) {
    if (error == 0) regions.close(region);
    net::note_refused_memory(process_, error == 0 ? "no key" : port_.fi.fi_strerror(-error));
    return nullptr;
  }
  const KeyAndBase both{key, regions.base_of(address)};
  return std::make_unique<CountedRegion>(process_, port_.transfers().regions, region, bytes, both);
}

std::unique_ptr<RemoteKey> OfiEndpoint::import_key(std::span<const std::byte> key) noexcept {
  const std::optional<KeyAndBase> both = unpacked(key);
  return both ? std::make_unique<OfiRemoteKey>(*both) : nullptr;
}

Start OfiEndpoint::start_put(const RemoteKey& key, uint64_t address, const LocalMemory& from,
                             Operation& operation) noexcept {
  return start(Kind::kPut, static_cast<const OfiRemoteKey&>(key).parts, address, from, operation);
}

Start OfiEndpoint::start_get(const RemoteKey& key, uint64_t address, const LocalMemory& into,
                             Operation& operation) noexcept {
  return start(Kind::kGet, static_cast<const OfiRemoteKey&>(key).parts, address, into, operation);
}

Start OfiEndpoint::start(Kind kind, const KeyAndBase& key, uint64_t address,
                         const LocalMemory& local, Operation& operation) noexcept {
  if (fate.dead_locked()) return lost(operation);
  if (local.bytes == 0) return Start::kDone;
  Transfer* const transfer = port_.transfers().take(kind, local);
  if (transfer == nullptr) return Start::kNoRoom;
  transfer->endpoint = this;
  transfer->operation = &operation;
  transfer->remote = address - key.base;
  transfer->key = key.key;
  const uint64_t last = transfer->remote + local.bytes - 1;
  if (!post(*transfer)) {
    port_.transfers().give_back(*transfer);
    return fate.dead_locked() ? lost(operation) : Start::kNoRoom;
  }
  if (kind == Kind::kPut) {
    order_.add(*transfer);
    unflushed_ = {key.key, last};
  }
  ++operation.left;
  return Start::kStarted;
}

// False: no room, or the endpoint has failed.
bool OfiEndpoint::post(Transfer& transfer) noexcept {
  const ssize_t result = port_.transfers().post(transfer, to_);
  if (!begun(result) || result != 0) return false;
  ++transfers_under_way_;
  return true;
}

Start OfiEndpoint::start_flush(Operation& operation) noexcept {
  if (fate.dead_locked()) return Start::kDone;
  const bool reads = port_.fabric->flush_by() == FlushBy::kRead && unflushed_;
  if (order_.oldest() == nullptr && !reads) return Start::kDone;
  Transfer* const flush = port_.transfers().take(Kind::kFlush, {nullptr, reads ? size_t{1} : 0});
  if (flush == nullptr) return Start::kNoRoom;
  flush->endpoint = this;
  flush->operation = &operation;
  if (reads) flush->key = unflushed_->key, flush->remote = unflushed_->last_byte;
  if (order_.oldest() == nullptr && !post(*flush)) {
    port_.transfers().give_back(*flush);
    return fate.dead_locked() ? Start::kDone : Start::kNoRoom;
  }
  flush->begun = order_.oldest() == nullptr;
  order_.add(*flush);
  unflushed_.reset();
  ++operation.left;
  return Start::kStarted;
}

void OfiEndpoint::ended(Transfer& transfer, int error) noexcept {
  --transfers_under_way_;
  note_moved();
  if (TERN_UNLIKELY(error != 0)) {
    transfer.operation->failed = true;
    fail(port_.fi.fi_strerror(error));
  } else if (transfer.kind == Kind::kGet && transfer.block != nullptr) {
    std::memcpy(transfer.local, transfer.block->payload, transfer.piece);
  }
  transfer.take_piece();
  go_on(transfer);
}

void OfiEndpoint::go_on(Transfer& transfer) noexcept {
  if (transfer.left == 0 || fate.dead_locked()) return finish(transfer);
  if (post(transfer)) return;
  if (fate.dead_locked()) return finish(transfer);
  port_.transfers().paused.push_back(&transfer);
}

void OfiEndpoint::finish(Transfer& transfer) noexcept {
  Operation& operation = *transfer.operation;
  operation.failed |= transfer.left != 0;
  if (transfer.kind != Kind::kGet) order_.remove(transfer);
  port_.transfers().give_back(transfer);
  if (!port_.sink_gone && --operation.left == 0) sink_.done(operation);
  Transfer* const oldest = order_.oldest();
  if (oldest == nullptr || oldest->kind != Kind::kFlush || oldest->begun) return;
  oldest->begun = true;
  go_on(*oldest);
}

}  // namespace tern::btl::ofi
