// SPDX-License-Identifier: Apache-2.0
// Enqueued messages: sends, receives, and waits.
#include "stream/message.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::stream {
namespace {

int parts_of(size_t bytes, size_t chunk) noexcept {
  return static_cast<int>(std::max<size_t>(1, (bytes + chunk - 1) / chunk));
}

class MessageCall : public Call {
 protected:
  MessageCall(CommStream& on, const Message& message, const char* function)
      : Call(function),
        communicator_(on.communicator()),
        chunk_(on.chunk()),
        message_(message),
        type_(message.type),
        area_(communicator_.process(), on.gpu(), message.address, message.count, *message.type) {}

  [[nodiscard]] pml::Pml& pml() const noexcept { return *communicator_.channel().pml; }
  [[nodiscard]] pml::Envelope envelope() const noexcept {
    return {&communicator_, message_.peer, message_.tag};
  }
  [[nodiscard]] pml::Buffer buffer(std::byte* packed) const noexcept {
    const auto kind = area_.by_stream() ? cuda::MemoryKind::kHost : area_.data().kind;
    if (packed == nullptr) return {message_.address, message_.count, message_.type, kind};
    if (message_.type->contiguous())
      return {packed - message_.type->true_lb(), message_.count, message_.type, kind};
    return {packed, static_cast<MPI_Count>(area_.bytes()),
            &core::predefined_type(communicator_.process(), MPI_PACKED), kind};
  }
  [[nodiscard]] size_t offset(int part) const noexcept {
    return static_cast<size_t>(part) * chunk_;
  }
  [[nodiscard]] size_t bytes(int part) const noexcept {
    return std::min(chunk_, area_.bytes() - offset(part));
  }

  core::Communicator& communicator_;
  const size_t chunk_;
  const Message message_;
  const core::Ref<core::Datatype> type_;
  Area area_;
};

class SendCall final : public MessageCall {
 public:
  SendCall(CommStream& on, const Message& message, std::shared_ptr<Pending> pending,
           const char* function)
      : MessageCall(on, message, function), pending_(std::move(pending)) {
    if (area_.by_stream()) passes = parts_of(area_.bytes(), chunk_);
    stored_ = area_.by_stream() && (passes > 1 || pending_ != nullptr);
  }
  int admit(const Capture& capture) noexcept override {
    if (pending_ != nullptr) pending_->capture = capture.id;
    return MPI_SUCCESS;
  }
  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    area_.copy_in(track, offset(pass), half, bytes(pass));
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    std::vector<std::byte>& store = pending_ != nullptr ? pending_->store : own_;
    if (stored_) {
      if (pass == 0) store.resize(area_.bytes());
      std::memcpy(store.data() + offset(pass), half, bytes(pass));
      if (pass + 1 < passes) return MPI_SUCCESS;
    }
    std::byte* const packed = stored_ ? store.data() : area_.by_stream() ? half : nullptr;
    requests->reserve(1);
    core::Request* request = nullptr;
    const int code = pml().isend(buffer(packed), envelope(), message_.mode, &request);
    if (code != MPI_SUCCESS) return code;
    if (pending_ != nullptr)
      pending_->request = request;
    else
      requests->push_back(request);
    return code;
  }

 private:
  const std::shared_ptr<Pending> pending_;
  std::vector<std::byte> own_;
  bool stored_ = false;
};

class RecvCall final : public MessageCall {
 public:
  RecvCall(CommStream& on, const Message& message, MPI_Status* status, const char* function)
      : MessageCall(on, message, function), status_(status) {
    if (area_.by_stream()) passes = parts_of(area_.bytes(), chunk_);
  }
  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    area_.copy_in(track, offset(pass), half, bytes(pass));
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    area_.copy_out(track, offset(pass), half, bytes(pass));
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (pass > 0) {
      give(pass, half);
      return MPI_SUCCESS;
    }
    if (passes > 1) store_.resize(area_.bytes());
    std::byte* const packed = passes > 1 ? store_.data() : area_.by_stream() ? half : nullptr;
    requests->reserve(1);
    core::Request* request = nullptr;
    const int code = pml().irecv(buffer(packed), envelope(), &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  int end(int pass, std::byte* half, const core::Outcome& first) override {
    if (pass == 0) {
      core::fill_status(status_, first, false);
      received_ = static_cast<size_t>(first.bytes);
      if (passes > 1) give(0, half);
    }
    return MPI_SUCCESS;
  }

 private:
  void give(int pass, std::byte* half) const noexcept {
    if (offset(pass) < received_)
      std::memcpy(half, store_.data() + offset(pass),
                  std::min(bytes(pass), received_ - offset(pass)));
  }
  MPI_Status* const status_;
  std::vector<std::byte> store_;
  size_t received_ = 0;
};

class IrecvCall final : public MessageCall {
 public:
  IrecvCall(CommStream& on, const Message& message, std::shared_ptr<Pending> pending,
            const char* function)
      : MessageCall(on, message, function), pending_(std::move(pending)) {
    pending_->area = area_;
  }
  int admit(const Capture& capture) noexcept override {
    pending_->capture = capture.id;
    return MPI_SUCCESS;
  }
  int begin(int, std::byte*, std::vector<core::Request*>*) override {
    if (area_.by_stream()) pending_->store.resize(area_.bytes());
    return pml().irecv(buffer(area_.by_stream() ? pending_->store.data() : nullptr), envelope(),
                       &pending_->request);
  }

 private:
  const std::shared_ptr<Pending> pending_;
};

/// WaitCall waits for all requests in the first pass.
class WaitCall final : public Call {
 public:
  WaitCall(const CommStream& on, std::vector<Awaited> all, const char* function)
      : Call(function), all_(std::move(all)), chunk_(on.chunk()) {
    for (const Awaited& one : all_) {
      const size_t bytes = one.pending->area.by_stream() ? one.pending->area.bytes() : 0;
      for (size_t offset = 0; offset < bytes; offset += chunk_)
        parts_.push_back({one.pending.get(), offset, std::min(chunk_, bytes - offset)});
    }
    passes = static_cast<int>(std::max<size_t>(1, parts_.size()));
  }
  // An execution of a graph must end exactly its own requests.
  int admit(const Capture& capture) noexcept override {
    for (const Awaited& one : all_) {
      if (one.pending->with_null_rank || one.pending->capture == capture.id) continue;
      return fail(MPI_ERR_REQUEST,
                  one.pending->capture == 0
                      ? "the request was started before the stream's capture; wait before "
                        "cudaStreamBeginCapture, or start in the capture"
                      : "the request was started in an ended capture; call "
                        "MPIX_Wait_enqueue before cudaStreamEndCapture");
    }
    return MPI_SUCCESS;
  }
  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    if (const PendingChunk* const part = at(pass))
      part->of->area.copy_in(track, part->offset, half, part->bytes);
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    if (const PendingChunk* const part = at(pass))
      part->of->area.copy_out(track, part->offset, half, part->bytes);
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (pass > 0) {
      give(pass, half);
      return MPI_SUCCESS;
    }
    requests->reserve(all_.size());
    taken_.clear();
    taken_.reserve(all_.size());
    for (const Awaited& one : all_) {
      if (one.pending->with_null_rank)
        core::fill_status(one.status, {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, false, 0},
                          passes_several());
      core::Request* const request = std::exchange(one.pending->request, nullptr);
      if (request == nullptr) continue;
      request->retain();  // end() reads the outcome
      requests->push_back(request);
      taken_.push_back({&one, request});
    }
    return MPI_SUCCESS;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    if (pass > 0) return MPI_SUCCESS;
    for (const auto& [one, request] : taken_) {
      one->pending->outcome = request->outcome;
      core::fill_status(one->status, request->outcome, passes_several());
      request->release();
    }
    taken_.clear();
    give(0, half);
    return MPI_SUCCESS;
  }
  void failed(int) noexcept override {
    for (const auto& [one, request] : taken_) request->release();
    taken_.clear();
  }

 private:
  struct PendingChunk {
    Pending* of;
    size_t offset, bytes;
  };
  struct Taken {
    const Awaited* one;
    core::Request* request;
  };
  [[nodiscard]] bool passes_several() const noexcept { return all_.size() > 1; }
  [[nodiscard]] const PendingChunk* at(int pass) const noexcept {
    return static_cast<size_t>(pass) < parts_.size() ? &parts_[static_cast<size_t>(pass)] : nullptr;
  }
  void give(int pass, std::byte* half) const noexcept {
    const PendingChunk* const part = at(pass);
    if (part == nullptr) return;
    const auto received = static_cast<size_t>(part->of->outcome.bytes);
    if (part->offset < received)
      std::memcpy(half, part->of->store.data() + part->offset,
                  std::min(part->bytes, received - part->offset));
  }
  const std::vector<Awaited> all_;
  const size_t chunk_;
  std::vector<PendingChunk> parts_;
  std::vector<Taken> taken_;
};

template <class Make>
int put(CommStream& on, const char* name, Make&& make) noexcept {
  return attempt([&] { return on.enqueue(make()); },
                 [&] { return fail(MPI_ERR_NO_MEM, "no memory for %s", name); });
}

}  // namespace

int EnqueuedRequest::deliver(bool) noexcept {
  return fail(MPI_ERR_REQUEST,
              "the request is of MPIX_Isend_enqueue or MPIX_Irecv_enqueue; call "
              "MPIX_Wait_enqueue");
}

void EnqueuedRequest::destroy() noexcept {
  handles_.erase(*this);
  delete this;
}

int enqueue_send(CommStream& on, const Message& message, const char* name) noexcept {
  return put(on, name, [&] { return std::make_unique<SendCall>(on, message, nullptr, name); });
}

int enqueue_recv(CommStream& on, const Message& message, MPI_Status* status,
                 const char* name) noexcept {
  return put(on, name, [&] { return std::make_unique<RecvCall>(on, message, status, name); });
}

namespace {

template <class Begin>
int enqueue_nonblocking(CommStream& on, const Message& message, EnqueuedRequest** request,
                        const char* name) noexcept {
  return attempt(
      [&] {
        auto pending = std::make_shared<Pending>();
        auto made = core::Ref<EnqueuedRequest>::adopt(
            new EnqueuedRequest(on.communicator().process().handles, pending, on));
        const int code = on.enqueue(std::make_unique<Begin>(on, message, pending, name));
        if (code == MPI_SUCCESS) *request = made.leak();
        return code;
      },
      [&] { return fail(MPI_ERR_NO_MEM, "no memory for %s", name); });
}

}  // namespace

int enqueue_isend(CommStream& on, const Message& message, EnqueuedRequest** request,
                  const char* name) noexcept {
  return enqueue_nonblocking<SendCall>(on, message, request, name);
}

int enqueue_irecv(CommStream& on, const Message& message, EnqueuedRequest** request,
                  const char* name) noexcept {
  return enqueue_nonblocking<IrecvCall>(on, message, request, name);
}

int enqueue_start(CommStream& on, const Message& message, bool sends,
                  std::shared_ptr<Pending>* pending, const char* name) noexcept {
  return put(on, name, [&]() -> std::unique_ptr<Call> {
    *pending = std::make_shared<Pending>();
    if (sends) return std::make_unique<SendCall>(on, message, *pending, name);
    return std::make_unique<IrecvCall>(on, message, *pending, name);
  });
}

bool is_left_behind(const CommStream& on, const Pending& pending) noexcept {
  if (pending.capture == 0) return false;
  const cuda::Current current(on.gpu()->device());
  return capture_of(*on.gpu()).id != pending.capture;
}

int begin_with_null_rank(CommStream& on, EnqueuedRequest** request) noexcept {
  return attempt(
      [&] {
        auto pending = std::make_shared<Pending>();
        pending->with_null_rank = true;
        *request = new EnqueuedRequest(on.communicator().process().handles, std::move(pending), on);
        return MPI_SUCCESS;
      },
      [] { return fail(MPI_ERR_NO_MEM, "no memory for a request"); });
}

int enqueue_wait(CommStream& on, std::vector<Awaited> all, const char* name) noexcept {
  return put(on, name, [&] { return std::make_unique<WaitCall>(on, std::move(all), name); });
}

}  // namespace tern::stream
