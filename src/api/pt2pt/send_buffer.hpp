// SPDX-License-Identifier: Apache-2.0
// SendBuffer: the program's memory for buffered sends, with its messages.
// Why: a buffered send returns once its data is packed here; progress sends the message.
// Lifetime: attached to a communicator, a session or the process (Instance). Threads: under the
// lock of all buffers (Instance), taken after a channel's. See: MPI-5.0 section 3.6.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "pml/pml.hpp"

namespace tern::api {

class CompoundRequest;

class SendBuffer {
 public:
  /// The address MPI_BUFFER_AUTOMATIC selects library memory of any size.
  SendBuffer(void* address, size_t bytes) noexcept : address_(address), bytes_(bytes) {}
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

  /// Whether a message of `bytes` fits, after dropping sent messages. The caller holds the buffers'
  /// lock.
  [[nodiscard]] bool has_room(size_t bytes) noexcept;
  /// Whether every message is sent. The caller holds the buffers' lock.
  [[nodiscard]] bool empty() noexcept;
  /// Packs and sends a message. Returns MPI_ERR_BUFFER if the buffer is full. The caller holds the
  /// locks of the communicator's channel and of the buffers. Throws std::bad_alloc.
  [[nodiscard]] int send(const pml::Buffer& data, const pml::Envelope& to);
  /// Waits until all messages are sent. The caller holds no lock.
  void flush() noexcept;
  /// Adds all current messages to `request`. The caller holds the buffers' lock.
  void add_to(CompoundRequest& request);

 private:
  struct Slot {
    size_t from, to;
    core::Request* request;
    std::unique_ptr<std::byte[]> own;  // automatic buffering
  };
  void drop_finished() noexcept;
  [[nodiscard]] bool sent() noexcept;
  /// Finds the place of a new slot of `bytes`: the index and offset. Returns false if no gap
  /// suffices.
  [[nodiscard]] bool find_room(size_t bytes, size_t* index, size_t* from) const noexcept;

  void* address_;
  size_t bytes_;
  std::vector<Slot> slots_;  // by address
};

/// Waits until the owner's buffered messages are sent, and detaches its buffer. Call before the
/// owner ends (null: the process).
void end_send_buffer(const core::Object* owner) noexcept;

}  // namespace tern::api
