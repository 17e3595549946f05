// SPDX-License-Identifier: Apache-2.0
// Enqueued messages: they match those of ordinary calls, whatever their size.
// How: what fits a half is sent from there, and received there. What does not goes through memory
// of the host, part by part: it is one message, which only whole can be sent. So do nonblocking
// ones, since the halves are the next operation's: the stream goes on as soon as the data is out of
// its way, and the wait brings it back in parts.
// A receive leaves what lies behind the message as it is: its room moves both ways.
// Lifetime: Calls; a Pending is shared by the beginning, the wait, and the user's request.
// See: tests/gpu/mpi/stream_order.cc.
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
/// *status is written when the stream comes to it.
[[nodiscard]] int enqueue_recv(CommStream& on, const Message& message, MPI_Status* status,
                               const char* name) noexcept;

/// A nonblocking one between its beginning and its wait.
struct Pending {
  Area area;  // of a receive
  std::vector<std::byte> store;
  core::Request* request = nullptr;
  core::Outcome outcome;
  uint64_t capture = 0;         // in which it was begun; 0 for none
  bool with_null_rank = false;  // MPI_PROC_NULL
};

/// The user's. It is waited for in a stream alone: ordinary calls refuse it.
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

/// *request has one reference, and a handle.
[[nodiscard]] int enqueue_isend(CommStream& on, const Message& message, EnqueuedRequest** request,
                                const char* name) noexcept;
[[nodiscard]] int enqueue_irecv(CommStream& on, const Message& message, EnqueuedRequest** request,
                                const char* name) noexcept;
/// The same for a persistent request, which stays the user's: *pending is what the stream waits
/// for. `sends`: as MPI_Send_init.
[[nodiscard]] int enqueue_start(CommStream& on, const Message& message, bool sends,
                                std::shared_ptr<Pending>* pending, const char* name) noexcept;
/// It was begun in a capture that has ended without a wait for it: it is over.
[[nodiscard]] bool is_left_behind(const CommStream& on, const Pending& pending) noexcept;
/// With MPI_PROC_NULL: nothing is enqueued.
[[nodiscard]] int begin_with_null_rank(CommStream& on, EnqueuedRequest** request) noexcept;
/// Of one communicator; statuses by request, MPI_STATUS_IGNORE allowed.
struct Awaited {
  std::shared_ptr<Pending> pending;
  MPI_Status* status;
};
[[nodiscard]] int enqueue_wait(CommStream& on, std::vector<Awaited> all, const char* name) noexcept;

}  // namespace tern::stream
