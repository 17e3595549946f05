// SPDX-License-Identifier: Apache-2.0
// Large messages in device memory: the announcement carries a card that names the data, and the
// receiver's device copies it, once, into whatever layout the receive has. Data with holes, or in
// memory that cannot be shared, goes into a block of the device's first (pieces.cc). Where the
// receiver's device cannot reach it, or there is none, the pipeline takes it through the host
// (rendezvous.cc).
#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {

// Before the announcement goes out. 0, or an error class with the request's text.
int P2p::offer_device(SendRequest& request) noexcept {
  if (TERN_LIKELY(!request.buffer.on_device()) || request.transfer.device != nullptr)
    return MPI_SUCCESS;
  Transfer& transfer = request.transfer;
  int code = MPI_SUCCESS;
  try {
    transfer.device = std::make_unique<DeviceTransfer>();
    DeviceTransfer& device = *transfer.device;
    cuda::Memory memory;
    device.job = core::begin_job(process_, request.buffer.first(), &code, &memory);
    if (code == MPI_SUCCESS) code = name_data(request, memory);
    if (code == MPI_SUCCESS) {
      // In fragments, then: with jobs of their own.
      if (!device.carded) transfer.device = std::make_unique<DeviceTransfer>();
      return MPI_SUCCESS;
    }
  } catch (const std::bad_alloc&) {
    code = fail(MPI_ERR_NO_MEM, "no memory for a message of %zu bytes", transfer.bytes);
  }
  request.error_text = new std::string(take_last_error().text);
  return code;
}

// What the application has written must be there before the receiver may read.
int P2p::name_data(SendRequest& request, const cuda::Memory& memory) {
  DeviceTransfer& device = *request.transfer.device;
  const size_t bytes = request.transfer.bytes;
  if (request.buffer.type->contiguous()) {
    // Ranks of this process need no handle.
    device.carded =
        devices_.offer(device.job.device(), memory, request.buffer.first(), bytes, &device.card) ||
        request.peer->endpoint->same_process();
    device.job.mark();
  }
  if (!device.carded && !stage_data(request)) return MPI_SUCCESS;
  if (device.pieces.count != 0) return MPI_SUCCESS;
  if (device.job.finish()) {
    device.job = {};  // streams are few
    return MPI_SUCCESS;
  }
  return fail(MPI_ERR_OTHER, "%zu bytes of device memory cannot be read: %s", bytes,
              device.job.failure().c_str());
}

bool P2p::offer(cuda::Device& device, const void* address, size_t bytes,
                MemoryCard* card) noexcept {
  return devices_.offer(device, cuda::look_up(address), address, bytes, card);
}

// The sender has failed: it announced what cannot come.
void P2p::lose(RecvRequest& request, const wire::Rts& rts) noexcept {
  delete request.error_text;  // it may be one about types
  request.error_text = new std::string(strf(
      "the message of %llu bytes from rank %d with tag %d cannot come: its sender has failed (the "
      "error there says why)",
      static_cast<unsigned long long>(rts.bytes), request.outcome.source, request.outcome.tag));
  finish(request, wire::class_from(rts.address));
}

// True where the receiver's device copies the data; the request ends when it has.
bool P2p::copy_on_device(RecvRequest& request, const NamedData& named) noexcept {
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
    copying_.reserve(copying_.size() + 1);
    if (!reach_data(*device, named, request.transfer.bytes)) return false;
    if (begin_copies(request, *device) && device->begun == 0) return false;
    if (device->pieces.count != 0)
      outbox_.send_control(*request.peer, wire::kGo,
                           wire::Go{request.transfer.partner, request.handle(),
                                    request.transfer.bytes, 0, wire::Way::kPieces, 0});
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
    DeviceTransfer& device = *request.transfer.device;
    const bool ended = device.in != nullptr ? device.in->done()
                                            : begin_copies(request, device) && device.job.done();
    if (!ended) {
      ++i;
      continue;
    }
    ++events;
    copying_[i] = copying_.back();
    copying_.pop_back();
    channel_.progress.stay_awake(-1);
    end_device_copy(request);
  }
  return events;
}

void P2p::end_device_copy(RecvRequest& request) noexcept {
  DeviceTransfer& device = *request.transfer.device;
  const bool bounced = device.in != nullptr;
  std::string why;
  if (bounced ? device.in->failed() : device.job.failed())
    why = bounced ? device.in->failure() : device.job.failure();
  else if (!bounced && !has_all_stamps(request, device))
    why = "its device has failed while it wrote them";
  const int code = why.empty() ? MPI_SUCCESS : MPI_ERR_OTHER;
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) {
    delete request.error_text;  // it may be one about truncation
    request.error_text =
        new std::string(strf("copying %zu bytes of device memory from rank %d failed: %s",
                             request.transfer.bytes, request.outcome.source, why.c_str()));
  }
  device.reached.reset();  // the sender may free its memory once it is told
  bounced ? finish(request, code) : tell_done(request, code);
}

// True when it has nothing more to push.
bool P2p::push_bounced(SendRequest& request, bool* moved) noexcept {
  Transfer& transfer = request.transfer;
  btl::Endpoint& endpoint = *request.peer->endpoint;
  DeviceTransfer& device = *transfer.device;  // since the announcement
  try {
    if (device.out == nullptr) {
      device.out = std::make_unique<BounceOut>(process_, request.buffer, transfer.bytes);
      channel_.progress.stay_awake(1);
    }
  } catch (const Error& error) {
    send_failed(request, error.mpi_class(), error.what());
    return true;
  } catch (const std::bad_alloc&) {
    send_failed(request, MPI_ERR_NO_MEM, "no memory");
    return true;
  }
  const size_t most = endpoint.fragment_bytes() - sizeof(wire::DataPrefix);
  while (transfer.moved < transfer.bytes) {
    const std::byte* at = nullptr;
    const size_t length = std::min(most, device.out->ready(&at));
    if (TERN_UNLIKELY(device.out->failed())) {
      channel_.progress.stay_awake(-1);
      send_failed(request, MPI_ERR_OTHER, device.out->failure());
      return true;
    }
    std::byte* const room =
        length == 0 ? nullptr : endpoint.begin_fragment(sizeof(wire::DataPrefix) + length);
    if (room == nullptr) return false;
    const wire::DataPrefix prefix{transfer.partner, transfer.moved};
    std::memcpy(room, &prefix, sizeof prefix);
    copy_bytes(room + sizeof prefix, at, length);
    endpoint.commit({0, wire::kData, static_cast<uint16_t>(sizeof prefix + length), 0, 0, 0});
    device.out->sent(length);
    transfer.moved += length;
    *moved = true;
  }
  channel_.progress.stay_awake(-1);
  request.pushing = false;
  requests_.finish(request, MPI_SUCCESS);
  return true;
}

void P2p::send_failed(SendRequest& request, int error, const std::string& why) noexcept {
  outbox_.send_control(*request.peer, wire::kFailed,
                       wire::Failed{request.transfer.partner, static_cast<uint64_t>(error)});
  request.pushing = false;
  request.error_text = new std::string(
      strf("%zu bytes of device memory cannot be read: %s", request.transfer.bytes, why.c_str()));
  requests_.finish(request, error);
}

// What cannot be put is dropped: the request ends with the error when all has come.
void P2p::take_bounced(RecvRequest& request, const std::byte* data, size_t bytes) noexcept {
  Transfer& transfer = request.transfer;
  std::string why;
  try {
    if (transfer.device == nullptr) {
      transfer.device = std::make_unique<DeviceTransfer>();
      transfer.device->in = std::make_unique<BounceIn>(process_, request.buffer, transfer.bytes);
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (transfer.device != nullptr && transfer.device->in != nullptr)
    transfer.device->in->put(data, bytes);
  else if (request.error_text == nullptr)
    request.error_text = new std::string(
        strf("%zu bytes cannot be received in device memory: %s", transfer.bytes, why.c_str()));
  transfer.moved += bytes;
  if (transfer.moved < transfer.bytes) return;
  if (transfer.device == nullptr || transfer.device->in == nullptr)
    return finish(request, MPI_ERR_OTHER);
  copying_.push_back(&request);
  channel_.progress.stay_awake(1);
}

}  // namespace tern::pml
