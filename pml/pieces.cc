// SPDX-License-Identifier: Apache-2.0
// Device data that has holes, or lies in memory that cannot be shared, goes through a block that
// others can map, in pieces: while one is packed, the receiver's device copies the one before. The
// sender's program may be away meanwhile: behind each piece stands an event that the receiver asks.
#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {
namespace {

/// Of all messages of this process: blocks serve one after the other.
uint32_t next_stamp() noexcept {
  static std::atomic<uint32_t> last{0};
  const uint32_t stamp = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return stamp != 0 ? stamp : next_stamp();
}

/// What a peer says of its pieces.
bool credible(const wire::Pieces& pieces, size_t bytes) noexcept {
  return pieces.count == 0 || (pieces.count <= wire::Pieces::kMost && pieces.bytes > 0 &&
                               pieces.bytes >= (bytes + pieces.count - 1) / pieces.count);
}

/// A rank that maps nothing is asked again now and then.
bool worth_staging(PeerState& peer) noexcept {
  constexpr uint32_t kRefusals = 4, kBetweenTries = 64;
  return peer.stages_refused < kRefusals || peer.stages_refused++ % kBetweenTries == 0;
}

}  // namespace

// False where it is not to be.
bool P2p::stage_data(SendRequest& request) {
  DeviceTransfer& device = *request.transfer.device;
  const size_t bytes = request.transfer.bytes + wire::Pieces::kBegin;
  if (device.job.failed() || !worth_staging(*request.peer) ||
      !device.job.device().affords(cuda::Device::Store::kDevice, bytes,
                                   static_cast<size_t>(process_.params.cuda_stage)))
    return false;
  device.block = cuda::Block(device.job, bytes);
  if (!device.block.valid()) return false;
  device.carded = offer(device.job.device(), device.block.data(), bytes, &device.card) ||
                  request.peer->endpoint->same_process();
  if (device.carded) pack_pieces(request);
  return device.carded;
}

// Without all events the sender waits before it announces.
void P2p::pack_pieces(SendRequest& request) {
  constexpr size_t kGrain = 65536;
  DeviceTransfer& device = *request.transfer.device;
  wire::Pieces& pieces = device.pieces;
  const size_t bytes = request.transfer.bytes;
  const size_t least = std::max((bytes + wire::Pieces::kMost - 1) / wire::Pieces::kMost,
                                static_cast<size_t>(process_.params.cuda_chunk));
  pieces.bytes = (least + kGrain - 1) / kGrain * kGrain;
  pieces.stamp = next_stamp();
  std::byte* const block = device.block.data();
  bool all = true;
  for (size_t at = 0; at < bytes; at += pieces.bytes, ++pieces.count) {
    core::pack(device.job, request.buffer, at, block + wire::Pieces::kBegin + at,
               std::min<size_t>(pieces.bytes, bytes - at));
    device.job.set(block + pieces.count * sizeof pieces.stamp, pieces.stamp);
    cuda::SharedEvent& event = device.events[pieces.count] = cuda::SharedEvent(device.job);
    all &= event.valid();
    pieces.events[pieces.count] = event.name();
  }
  if (!all || device.job.failed()) pieces.count = 0;
}

// The card's block, and the events of its pieces. False where there is another way to go.
bool P2p::reach_data(DeviceTransfer& device, const NamedData& named, size_t bytes) {
  const btl::MemoryCard card = named.card();
  if (const auto pieces = named.pieces(); pieces) {
    device.pieces = *pieces;
    device.begins = wire::Pieces::kBegin;
  }
  const wire::Pieces& pieces = device.pieces;
  const bool fits = device.begins == 0 || device.begins + bytes <= card.bytes;
  if (!credible(pieces, bytes) || !fits) return false;
  device.reached = devices_.reach(card, device.job.device());
  if (device.reached == nullptr) return false;
  // Processes that take turns on one device lose time at each turn.
  device.at_once = card.device == device.job.device().uuid;
  for (uint32_t i = 0; i < pieces.count; ++i)
    device.opened[i] = cuda::open_event(device.job, pieces.events[i]);
  if (TERN_LIKELY(!device.job.failed())) return true;
  process_.gpus.tell_fallback(process_.explain,
                              "device memory that is packed goes through the host: its events "
                              "cannot be asked: " +
                                  device.job.failure());
  return false;
}

// Begins to copy what is there; true when everything was begun, or the job has failed.
bool P2p::begin_copies(RecvRequest& request, DeviceTransfer& device) noexcept {
  const size_t bytes = request.transfer.bytes;
  const wire::Pieces& pieces = device.pieces;
  while (device.begun < bytes && !device.job.failed()) {
    size_t end = bytes;
    if (pieces.count != 0) {
      const size_t piece = (device.at_once ? bytes - 1 : device.begun) / pieces.bytes;
      if (!cuda::happened(device.job, device.opened[piece])) return device.job.failed();
      end = std::min(bytes, (piece + 1) * pieces.bytes);
    }
    core::unpack(device.job, request.buffer, device.begun,
                 device.reached->address + device.begins + device.begun, end - device.begun);
    device.begun = end;
  }
  return true;
}

// Whether what was copied is what the sender's device has packed.
bool P2p::has_all_stamps(const RecvRequest& request, DeviceTransfer& device) noexcept {
  const wire::Pieces& pieces = device.pieces;
  if (pieces.count == 0) return true;
  std::array<uint32_t, wire::Pieces::kMost> stamps{};
  device.job.copy(stamps.data(), device.reached->address, sizeof stamps);
  if (!device.job.finish()) return false;
  const size_t used = (request.transfer.bytes - 1) / pieces.bytes + 1;
  return std::all_of(stamps.begin(), stamps.begin() + static_cast<std::ptrdiff_t>(used),
                     [&](uint32_t stamp) { return stamp == pieces.stamp; });
}

// Whether there is nothing more to watch: the pieces are there. Where they will not be, nobody is
// to wait for them.
bool P2p::watch_pieces(SendRequest& request) noexcept {
  cuda::Job& job = request.transfer.device->job;
  if (!job.done()) return false;
  request.pushing = false;
  if (TERN_UNLIKELY(job.failed())) send_failed(request, MPI_ERR_OTHER, job.failure());
  return true;
}

// The device has died; the receiver has seen it, or had everything.
void P2p::lose_device(SendRequest& request) noexcept {
  const cuda::Job& job = request.transfer.device->job;
  request.error_text =
      new std::string(strf("the device that packed %zu bytes for rank %d has failed: %s",
                           request.transfer.bytes, request.to.rank, job.failure().c_str()));
  requests_.finish(request, MPI_ERR_OTHER);
}

void P2p::take_failed(const PeerState& from, const wire::Failed& failed) noexcept {
  auto* request = dynamic_cast<RecvRequest*>(process_.handles.find<core::Request>(failed.receiver));
  const bool pieces = request != nullptr && request->transfer.device != nullptr &&
                      request->transfer.device->pieces.count != 0;
  if (request == nullptr || !(pieces || request->fragments) || request->peer != &from ||
      request->transfer.moved >= request->transfer.bytes) {
    log_line("the failure of a message that nobody receives is ignored");
    return;
  }
  delete request->error_text;
  request->error_text = new std::string(
      strf("rank %d could not read the %zu bytes that it sends; its own error says why",
           request->outcome.source, request->transfer.bytes));
  if (pieces) drop_copy(*request);
  finish(*request, wire::class_from(failed.error));
}

// Its data will not come.
void P2p::drop_copy(RecvRequest& request) noexcept {
  const auto at = std::find(copying_.begin(), copying_.end(), &request);
  if (at == copying_.end()) return;
  copying_.erase(at);
  channel_.progress.stay_awake(-1);
}

}  // namespace tern::pml
