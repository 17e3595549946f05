// SPDX-License-Identifier: Apache-2.0
// SendBuffer: the program's memory for buffered sends (MPI-5.0 section 3.6).
// Lifetime: attached to a communicator, a session or the process. Threads: under the lock of all
// buffers (Instance), taken after a channel's; flush() takes the locks itself.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "pml/pml.hpp"

namespace tern::api {

class CompoundRequest;

class SendBuffer {
 public:
  /// MPI_BUFFER_AUTOMATIC means library memory of any size.
  SendBuffer(void* address, size_t bytes) noexcept : address_(address), bytes_(bytes) {}
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] bool has_room(size_t bytes) noexcept;
  [[nodiscard]] bool empty() noexcept;
  /// Returns MPI_ERR_BUFFER if full. Requires the channel's lock, too. Throws std::bad_alloc.
  [[nodiscard]] int send(const pml::Buffer& data, const pml::Envelope& to);
  void flush() noexcept;
  void add_to(CompoundRequest& request);

 private:
  struct BufferedSend {
    size_t from, to;
    core::Request* request;
    std::unique_ptr<std::byte[]> own;
  };
  void drop_finished() noexcept;
  [[nodiscard]] bool sent() noexcept;
  [[nodiscard]] bool find_room(size_t bytes, size_t* index, size_t* from) const noexcept;

  void* address_;
  size_t bytes_;
  std::vector<BufferedSend> slots_;
};

/// Waits until the owner's messages are sent, and detaches the buffer. A null owner is the process.
void end_send_buffer(const core::Object* owner) noexcept;

}  // namespace tern::api
