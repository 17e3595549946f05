// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "buffer" (MPI-5.0 section 3.6). A send uses the communicator's
// buffer, else its session's, else the process's.
#include <sched.h>

#include <chrono>
#include <mutex>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/compound.hpp"
#include "api/pt2pt/send_buffer.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "core/communicator.hpp"
#include "core/session.hpp"

namespace tern::api {
namespace {

/// A null owner stands for the process.
using Owner = const core::Object*;

using BufferLock = std::lock_guard<std::mutex>;

/// The caller holds the lock of all buffers.
std::shared_ptr<SendBuffer> buffer_of(Owner owner) noexcept {
  const auto& all = instance().send_buffers.by_owner;
  const auto found = all.find(owner);
  return found == all.end() ? nullptr : found->second;
}

std::shared_ptr<SendBuffer> find_buffer(Owner owner) noexcept {
  const BufferLock lock(instance().send_buffers.mutex);
  return buffer_of(owner);
}

void forget(Owner owner) noexcept {
  const BufferLock lock(instance().send_buffers.mutex);
  instance().send_buffers.by_owner.erase(owner);
}

int attach(Owner owner, void* address, MPI_Count size) noexcept {
  return attempt([&] {
    if (address == nullptr && size != 0)
      return fail(MPI_ERR_BUFFER, "the buffer is a null pointer, but the size is %lld",
                  static_cast<long long>(size));
    const BufferLock lock(instance().send_buffers.mutex);
    if (const auto old = buffer_of(owner); old != nullptr)
      return fail(MPI_ERR_BUFFER,
                  "a buffer of %zu bytes is already attached; detach the old buffer first",
                  old->bytes());
    const bool automatic = address == MPI_BUFFER_AUTOMATIC;
    instance().send_buffers.by_owner[owner] =
        std::make_shared<SendBuffer>(address, automatic ? 0 : static_cast<size_t>(size));
    return MPI_SUCCESS;
  });
}

int detach(Owner owner, void* buffer_addr, MPI_Count* size) noexcept {
  const auto found = find_buffer(owner);
  if (found == nullptr) return fail(MPI_ERR_BUFFER, "no buffer is attached");
  for (bool empty = false; !empty;) {  // other threads may send meanwhile
    found->flush();
    const BufferLock lock(instance().send_buffers.mutex);
    empty = found->empty();
    if (empty) instance().send_buffers.by_owner.erase(owner);
  }
  *static_cast<void**>(buffer_addr) = found->address();
  *size = static_cast<MPI_Count>(found->bytes());
  return MPI_SUCCESS;
}

int flush(Owner owner) noexcept {
  if (const auto found = find_buffer(owner); found != nullptr) found->flush();
  return MPI_SUCCESS;
}

int iflush(Owner owner, core::Communicator* of, MPI_Request* request) noexcept {
  return attempt([&] {
    auto whole = core::Ref<CompoundRequest>::adopt(new CompoundRequest(of));
    const core::ChannelLock channel(of->channel().progress);
    const BufferLock lock(instance().send_buffers.mutex);
    if (const auto found = buffer_of(owner); found != nullptr) found->add_to(*whole);
    *request = reinterpret_cast<MPI_Request>(whole->handle());
    whole.leak()->run();
    return MPI_SUCCESS;
  });
}

/// Returns null without a buffer. The caller holds the lock of all buffers.
std::shared_ptr<SendBuffer> serving(const core::Communicator& communicator) noexcept {
  auto found = buffer_of(&communicator);
  const core::Object* session = communicator.session.get();
  if (found == nullptr && session != nullptr) found = buffer_of(session);
  return found == nullptr ? buffer_of(nullptr) : found;
}

/// Received messages free their space only in progress. The caller holds the channel's lock.
void make_room(SendBuffer& buffer, size_t bytes, core::Progress& progress) noexcept {
  constexpr std::chrono::milliseconds kTimeout{20};
  const auto has_room = [&] {
    const BufferLock lock(instance().send_buffers.mutex);
    return buffer.has_room(bytes);
  };
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  do {
    if (progress.poll_for_caller() + progress.poll_others() == 0) ::sched_yield();
  } while (!has_room() && std::chrono::steady_clock::now() < until);
}

int send_buffered(const pml::Buffer& data, const pml::Envelope& to) noexcept {
  return attempt([&] {
    core::Progress& progress = to.communicator->channel().progress;
    const core::ChannelLock channel(progress);
    std::unique_lock<std::mutex> lock(instance().send_buffers.mutex);
    auto buffer = serving(*to.communicator);
    if (buffer != nullptr && TERN_UNLIKELY(!buffer->has_room(data.bytes()))) {
      lock.unlock();
      make_room(*buffer, data.bytes(), progress);
      lock.lock();
      buffer = serving(*to.communicator);  // another thread may have detached the buffer
    }
    if (buffer == nullptr)
      return fail(MPI_ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach first");
    return buffer->send(data, to);
  });
}

class BufferedRequest : public core::Request {
 public:
  BufferedRequest() {
    complete();
    the_process->handles.insert(*this);
  }
  bool cancel() noexcept override { return true; }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    delete this;
  }
};

/// The request is destroyed under the channel's lock.
class PersistentBuffered final : public BufferedRequest {
 public:
  PersistentBuffered(const pml::Buffer& data, const pml::Envelope& to)
      : data_(data), to_(to), type_(data.type) {
    traits_.persistent = true;
    set_active(false);
    communicator = to.communicator;
    channel = &communicator->channel();
    const core::ChannelLock lock(channel->progress);
    communicator->keep_for_request();
  }
  ~PersistentBuffered() override { communicator->request_ended(); }
  int start() noexcept override {
    set_active(true);
    return to_.rank == MPI_PROC_NULL ? MPI_SUCCESS : send_buffered(data_, to_);
  }

 private:
  pml::Buffer data_;
  pml::Envelope to_;
  core::Ref<core::Datatype> type_;
};

template <class Made, class... Given>
int give_request(MPI_Request* request, const Given&... given) noexcept {
  return guarded([&] {
    auto* made = new Made(given...);
    *request = reinterpret_cast<MPI_Request>(made->handle());
  });
}

pml::Buffer user_data(const void* buf, MPI_Count count, core::Datatype& type) noexcept {
  return {const_cast<void*>(buf), count, &type};
}

}  // namespace

int bsend(const void* buf, MPI_Count count, core::Datatype& datatype, int dest, int tag,
          core::Communicator& comm) noexcept {
  if (dest == MPI_PROC_NULL) return null_transfer(comm);
  return send_buffered(user_data(buf, count, datatype), {&comm, dest, tag});
}

int ibsend(const void* buf, MPI_Count count, core::Datatype& datatype, int dest, int tag,
           core::Communicator& comm, MPI_Request* request) noexcept {
  const int code = bsend(buf, count, datatype, dest, tag, comm);
  if (code != MPI_SUCCESS) return give_failed(comm, code, request);
  return give_request<BufferedRequest>(request);
}

int bsend_init(const void* buf, MPI_Count count, core::Datatype& datatype, int dest, int tag,
               core::Communicator& comm, MPI_Request* request) noexcept {
  return give_request<PersistentBuffered>(request, user_data(buf, count, datatype),
                                          pml::Envelope{&comm, dest, tag});
}

int buffer_attach(void* buffer, MPI_Count size) noexcept { return attach(nullptr, buffer, size); }
int buffer_detach(void* buffer_addr, MPI_Count* size) noexcept {
  return detach(nullptr, buffer_addr, size);
}
int buffer_flush() noexcept { return flush(nullptr); }
int buffer_iflush(MPI_Request* request) noexcept {
  return iflush(nullptr, the_process->self, request);
}

int comm_attach_buffer(core::Communicator& comm, void* buffer, MPI_Count size) noexcept {
  return attach(&comm, buffer, size);
}
int comm_detach_buffer(core::Communicator& comm, void* buffer_addr, MPI_Count* size) noexcept {
  return detach(&comm, buffer_addr, size);
}
int comm_flush_buffer(core::Communicator& comm) noexcept { return flush(&comm); }
int comm_iflush_buffer(core::Communicator& comm, MPI_Request* request) noexcept {
  return iflush(&comm, &comm, request);
}

int session_attach_buffer(core::Session& session, void* buffer, MPI_Count size) noexcept {
  return attach(&session, buffer, size);
}
int session_detach_buffer(core::Session& session, void* buffer_addr, MPI_Count* size) noexcept {
  return detach(&session, buffer_addr, size);
}
int session_flush_buffer(core::Session& session) noexcept { return flush(&session); }
int session_iflush_buffer(core::Session& session, MPI_Request* request) noexcept {
  return iflush(&session, the_process->self, request);
}

void end_send_buffer(const core::Object* owner) noexcept {
  (void)flush(owner);
  forget(owner);
}

}  // namespace tern::api
