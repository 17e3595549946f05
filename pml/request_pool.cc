// SPDX-License-Identifier: Apache-2.0
// RequestPool: requests, and references of persistent requests.
#include "pml/request_pool.hpp"

#include <utility>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "mpix.h"

namespace tern::pml {
namespace {

/// Vector loads would stall on the scalar stores to the fields, so registers copy the buffer.
inline void take(Buffer& to, const Buffer& from) noexcept {
  void* address = from.address;
  MPI_Count count = from.count;
  core::Datatype* type = from.type;
  asm("" : "+r"(address), "+r"(count), "+r"(type));
  cuda::MemoryKind kind = from.kind;
  if (kind == cuda::MemoryKind::kUnknown)
    kind = count == 0 ? cuda::MemoryKind::kHost
                      : cuda::kind_of(static_cast<std::byte*>(address) + type->true_lb());
  to.address = address;
  to.count = count;
  to.type = type;
  to.kind = kind;
}

/// The caller holds the channel's lock, because the release may end the communicator.
void release_kept(const Buffer& buffer, core::Communicator& communicator) noexcept {
  if (!buffer.type->predefined()) buffer.type->release();
  communicator.request_ended();
}

TERN_COLD void drop_failure(core::Request& request) noexcept {
  delete std::exchange(request.error_text, nullptr);
  request.let_communicator_go();
}

}  // namespace

void set_error_text(core::Request& request, const std::string& text) noexcept {
  delete std::exchange(request.error_text, nullptr);
  try {
    request.error_text = new std::string(text);
  } catch (const std::bad_alloc&) {
  }
}

std::string truncation_text(const RecvRequest& request, size_t bytes, size_t room) {
  return strf(
      "the message from rank %d with tag %d has %zu bytes, but the receive has room for %zu; the "
      "first %zu are kept",
      request.outcome.source, request.outcome.tag, bytes, room, room);
}

void keep_for_restart(const Buffer& buffer, core::Communicator& communicator) noexcept {
  if (!buffer.type->predefined()) buffer.type->retain();
  communicator.keep_for_request();
}

void forget_failure(core::Request& request) noexcept {
  if (TERN_UNLIKELY(request.outcome.error != MPI_SUCCESS)) drop_failure(request);
}

RequestPool::RequestPool(MessageEngine& owner, core::Channel& channel)
    : owner_(owner), process_(channel.process), tracks_(process_.params.checks("leaks")) {
  if (process_.threaded()) admit_threads();
  completed_ =
      make_send(Buffer{nullptr, 0, nullptr, cuda::MemoryKind::kHost}, Envelope{}, Mode::kStandard);
  if (completed_ == nullptr) throw std::bad_alloc();
  completed_->complete();
  completed_->notes.shared = true;
  completed_->made_at = {};
}

RequestPool::~RequestPool() {
  for (auto& send : sends_.all()) process_.handles.erase(*send);
  for (auto& recv : recvs_.all()) {
    process_.handles.erase(*recv);
    delete recv->error_text;
  }
}

template <class Request>
inline Request* RequestPool::acquire(ObjectPool<Request>& pool) noexcept {
  Request* const used = pool.acquire();
  return TERN_LIKELY(used != nullptr) ? used : add(pool);
}

template <class Request>
Request* RequestPool::add(ObjectPool<Request>& pool) noexcept {
  try {
    return pool.add(std::make_unique<Request>(owner_),
                    [this](Request& made) { process_.handles.insert(made); });
  } catch (const std::bad_alloc&) {
    (void)tern::fail(MPI_ERR_NO_MEM, "no memory for a request");
  } catch (const Error& error) {
    (void)tern::fail(error);
  }
  return nullptr;
}

SendRequest* RequestPool::make_send(const Buffer& buffer, const Envelope& to, Mode mode) noexcept {
  SendRequest* const request = acquire(sends_);
  if (TERN_UNLIKELY(request == nullptr)) return nullptr;
  take(request->buffer, buffer);
  request->to = to;
  request->mode = mode;
  request->communicator = to.communicator;
  if (TERN_UNLIKELY(tracks_)) request->made_at = core::current_call;
  return request;
}

RecvRequest* RequestPool::make_recv(const Buffer& buffer, const Envelope& from) noexcept {
  RecvRequest* const request = acquire(recvs_);
  if (TERN_UNLIKELY(request == nullptr)) return nullptr;
  take(request->buffer, buffer);
  request->from = from;
  request->communicator = from.communicator;
  if (TERN_UNLIKELY(tracks_)) request->made_at = core::current_call;
  request->key = key_of(from);
  return request;
}

void RequestPool::begin(SendRequest& request, int lost) noexcept {
  request.restart();
  request.outcome = {};
  request.transfer = {};
  request.transfer.bytes = request.buffer.bytes();
  request.lost = lost;
  request.prepared = false;
  request.next_waiting = nullptr;
  request.awaits = SendRequest::Awaits::kNothing;
  request.ending = false;
  request.retain();
  ++request.communicator->pending;
  if (!request.buffer.type->predefined()) request.buffer.type->retain();
}

void RequestPool::begin(RecvRequest& request) noexcept {
  request.restart();
  request.outcome = {};
  request.peer = nullptr;
  request.retain();
  ++request.communicator->pending;
  if (!request.buffer.type->predefined()) request.buffer.type->retain();
}

void RequestPool::finish_later(SendRequest& request, int error) noexcept {
  request.ending = true;
  request.awaits = SendRequest::Awaits::kNothing;
  if (error != MPI_SUCCESS) request.outcome.error = error;
}

void RequestPool::done(SendRequest& request) noexcept {
  if (request.ending) finish(request, request.outcome.error);
}

void RequestPool::finish(SendRequest& request, int error) noexcept {
  if (TERN_UNLIKELY(request.operation.left != 0)) return finish_later(request, error);
  if (!request.buffer.type->predefined()) request.buffer.type->release();
  core::Communicator* communicator = request.communicator;
  request.transfer.half.reset();
  request.awaits = SendRequest::Awaits::kNothing;
  if (TERN_UNLIKELY(error != MPI_SUCCESS)) {
    request.outcome.error = error;
    request.keep_communicator();
  }
  request.complete();
  request.release();
  communicator->operation_ended();
}

void RequestPool::finish(RecvRequest& request, int error) noexcept {
  if (TERN_UNLIKELY(request.large)) {
    request.large = request.abandoned = false;
    request.transfer.half.reset();
    --receiving_;
  }
  if (!request.buffer.type->predefined()) request.buffer.type->release();
  core::Communicator* communicator = request.communicator;
  if (TERN_UNLIKELY((error | request.outcome.error) != MPI_SUCCESS)) {
    if (error != MPI_SUCCESS || request.outcome.error == MPIX_ERR_PROC_FAILED_PENDING)
      request.outcome.error = error;
    request.pends = false;
    if (request.outcome.error != MPI_SUCCESS) request.keep_communicator();
  }
  ++received_;
  request.complete();
  request.release();
  communicator->operation_ended();
}

void RequestPool::fail(SendRequest& request, const Failure& failure) noexcept {
  set_error_text(request, failure.text);
  finish(request, failure.code);
}

void RequestPool::fail(RecvRequest& request, const Failure& failure) noexcept {
  set_error_text(request, failure.text);
  finish(request, failure.code);
}

void RequestPool::fail(SendRequest& request, const Fate& fate) noexcept {
  fail(request, fate.reason());
}

template <class Request>
void RequestPool::recycle(Request& request, ObjectPool<Request>& pool) noexcept {
  process_.handles.renew(request);
  if (request.persistent()) release_kept(request.buffer, *request.communicator);
  request.set_persistent(false);
  forget_failure(request);
  if constexpr (std::is_same_v<Request, RecvRequest>) request.blocking = false;
  request.revive();
  request.made_at = {};
  pool.release(request);
}
template void RequestPool::recycle(SendRequest&, ObjectPool<SendRequest>&) noexcept;
template void RequestPool::recycle(RecvRequest&, ObjectPool<RecvRequest>&) noexcept;

}  // namespace tern::pml
