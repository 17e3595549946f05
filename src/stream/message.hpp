// SPDX-License-Identifier: Apache-2.0
// Enqueued messages, matched with ordinary sends and receives. How: data that fits a half of the
// board is sent from, and received into, the half. Larger data is collected in host memory chunk by
// chunk, because a message can only be sent whole. Nonblocking messages use host memory as well, to
// free the halves for the next operation. A receive must not change the buffer behind the message,
// so the whole buffer is copied in and out. Lifetime: Calls; a Pending is shared by start, wait,
// and the user's request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "pml/pml.hpp"
#include "stream/area.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

struct Message {
  void* address;
  MPI_Count count;
  core::Datatype* type;
  int peer;  // or MPI_ANY_SOURCE
  int tag;
  pml::Mode mode = pml::Mode::kStandard;
};

[[nodiscard]] int enqueue_send(CommStream& on, const Message& message, const char* name) noexcept;
[[nodiscard]] int enqueue_recv(CommStream& on, const Message& message, MPI_Status* status,
                               const char* name) noexcept;

struct Pending {
  Area area;
  std::vector<std::byte> store;
  core::Request* request = nullptr;
  core::Outcome outcome;
  uint64_t capture = 0;         // id of the capture, or 0
  bool with_null_rank = false;  // the peer is MPI_PROC_NULL
};

/// EnqueuedRequest: the user's request, for waits in a stream only; ordinary calls refuse the
/// request.
class EnqueuedRequest final : public core::Request {
 public:
  EnqueuedRequest(core::HandleTable& handles, std::shared_ptr<Pending> what, CommStream& on)
      : pending(std::move(what)), stream(on), handles_(handles) {
    complete();
    handles_.insert(*this);
  }
  const std::shared_ptr<Pending> pending;
  CommStream& stream;

  int deliver(bool last) noexcept override;
  void destroy() noexcept override;

 private:
  core::HandleTable& handles_;
};

[[nodiscard]] int enqueue_isend(CommStream& on, const Message& message, EnqueuedRequest** request,
                                const char* name) noexcept;
[[nodiscard]] int enqueue_irecv(CommStream& on, const Message& message, EnqueuedRequest** request,
                                const char* name) noexcept;
/// enqueue_start() starts a persistent request, which the user keeps. *pending is for the wait.
/// `sends`: as MPI_Send_init.
[[nodiscard]] int enqueue_start(CommStream& on, const Message& message, bool sends,
                                std::shared_ptr<Pending>* pending, const char* name) noexcept;
/// A message is left behind if its capture ended without a wait.
[[nodiscard]] bool is_left_behind(const CommStream& on, const Pending& pending) noexcept;
[[nodiscard]] int begin_with_null_rank(CommStream& on, EnqueuedRequest** request) noexcept;
/// All awaited requests are of one communicator. A status may be MPI_STATUS_IGNORE.
struct Awaited {
  std::shared_ptr<Pending> pending;
  MPI_Status* status;
};
[[nodiscard]] int enqueue_wait(CommStream& on, std::vector<Awaited> all, const char* name) noexcept;

}  // namespace tern::stream
