// SPDX-License-Identifier: Apache-2.0
// SendBuffer: the memory that a program gives for buffered sends, and the messages in it.
// Why: a buffered send ends when its data is packed there; progress sends it on.
// Lifetime: attached to a communicator, a session or the process (Instance). Threads: under the
// lock of all buffers (Instance), which is taken after a channel's. See: MPI-5.0 section 3.6.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "pml/pml.hpp"

namespace tern::api {

class CompoundRequest;

class SendBuffer {
 public:
  /// MPI_BUFFER_AUTOMATIC as address: memory of our own, as much as is needed.
  SendBuffer(void* address, size_t bytes) noexcept : address_(address), bytes_(bytes) {}
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

  /// Does a message of `bytes` fit? Forgets messages that are sent. The buffers' lock held.
  [[nodiscard]] bool has_room(size_t bytes) noexcept;
  /// Is every message sent? The buffers' lock held.
  [[nodiscard]] bool empty() noexcept;
  /// Packs and sends. MPI_ERR_BUFFER where there is no room. The locks of the communicator's
  /// channel and of the buffers held. Throws std::bad_alloc.
  [[nodiscard]] int send(const pml::Buffer& data, const pml::Envelope& to);
  /// Waits until everything in it is sent. No lock held.
  void flush() noexcept;
  /// Makes `request` complete when everything that is in it now is sent. The buffers' lock held.
  void add_to(CompoundRequest& request);

 private:
  struct Slot {
    size_t from, to;
    core::Request* request;
    std::unique_ptr<std::byte[]> own;  // automatic buffering
  };
  void drop_finished() noexcept;
  [[nodiscard]] bool sent() noexcept;
  /// The index before which a slot of `bytes` fits, and where; false where nowhere.
  [[nodiscard]] bool find_room(size_t bytes, size_t* index, size_t* from) const noexcept;

  void* address_;
  size_t bytes_;
  std::vector<Slot> slots_;  // by place
};

/// Before its owner ends (null: the process): waits until its messages are sent, and forgets it.
void end_send_buffer(const core::Object* owner) noexcept;

}  // namespace tern::api
