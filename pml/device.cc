// SPDX-License-Identifier: Apache-2.0
// Large messages in device memory: the announcement carries a card that names the data, and the
// receiver's device copies it, once, into whatever layout the receive has. Data with holes is
// packed on its device first. Where the memory cannot be shared, or the receiver has no device, the
// pipeline takes it through the host (rendezvous.cc).
#include <algorithm>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {

// Before the announcement goes out: false when it has failed, and the request is finished.
bool P2p::offer_device(SendRequest& request) noexcept {
  if (TERN_LIKELY(!request.buffer.on_device()) || request.transfer.device != nullptr) return true;
  Transfer& transfer = request.transfer;
  int code = MPI_SUCCESS;
  try {
    transfer.device = std::make_unique<DeviceTransfer>();
    DeviceTransfer& device = *transfer.device;
    device.job = core::begin_job(process_, request.buffer.first(), &code);
    if (code == MPI_SUCCESS) code = name_data(request);
    if (code == MPI_SUCCESS) return true;
  } catch (const std::bad_alloc&) {
    code = fail(MPI_ERR_NO_MEM, "no memory for a message of %zu bytes", transfer.bytes);
  }
  request.error_text = new std::string(take_last_error().text);
  finish(request, code);
  return false;
}

// What the application has written must be there before the receiver may read.
int P2p::name_data(SendRequest& request) noexcept {
  constexpr size_t kMostPacked = 256 << 20;
  DeviceTransfer& device = *request.transfer.device;
  const size_t bytes = request.transfer.bytes;
  const void* block = request.buffer.first();
  if (!request.buffer.type->contiguous()) {
    if (bytes > kMostPacked) return MPI_SUCCESS;
    device.block = cuda::Block(device.job, bytes);
    if (!device.block.valid()) return MPI_SUCCESS;  // in fragments, then
    core::pack(device.job, request.buffer, 0, device.block.data(), bytes);
    block = device.block.data();
  }
  device.job.mark();
  if (!device.job.finish())
    return fail(MPI_ERR_OTHER, "%zu bytes of device memory cannot be read: %s", bytes,
                device.job.failure().c_str());
  device.carded =
      devices_.offer(device.job.device(), cuda::look_up(block), block, bytes, &device.card);
  // Ranks of this process need no handle.
  device.carded |= request.peer->endpoint->same_process();
  return MPI_SUCCESS;
}

// True where the receiver's device copies the data; the request ends when it has.
bool P2p::copy_on_device(RecvRequest& request, const btl::MemoryCard& card) noexcept {
  try {
    auto device = std::make_unique<DeviceTransfer>();
    int code = MPI_SUCCESS;
    if (request.buffer.on_device()) {
      device->job = core::begin_job(process_, request.buffer.first(), &code);
    } else if (cuda::Device* any = process_.gpus.any(); any != nullptr) {
      device->job = cuda::Job(*any);
    } else {
      return false;
    }
    if (code != MPI_SUCCESS || device->job.failed()) return false;
    device->reached = devices_.reach(card, device->job.device());
    if (device->reached == nullptr) return false;
    core::unpack(device->job, request.buffer, 0, device->reached->address, request.transfer.bytes);
    request.transfer.device = std::move(device);
    copying_.push_back(&request);
    channel_.progress.stay_awake(1);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

int P2p::move_device_copies() noexcept {
  int events = 0;
  for (size_t i = 0; i < copying_.size();) {
    RecvRequest& request = *copying_[i];
    if (!request.transfer.device->job.done()) {
      ++i;
      continue;
    }
    ++events;
    copying_[i] = copying_.back();
    copying_.pop_back();
    channel_.progress.stay_awake(-1);
    int code = MPI_SUCCESS;
    if (request.transfer.device->job.failed()) {
      delete request.error_text;  // it may be one about truncation
      request.error_text = new std::string(
          strf("copying %zu bytes of device memory from rank %d failed: %s", request.transfer.bytes,
               request.outcome.source, request.transfer.device->job.failure().c_str()));
      code = MPI_ERR_OTHER;
    }
    tell_done(request, code);
  }
  return events;
}

}  // namespace tern::pml
