// SPDX-License-Identifier: Apache-2.0
// BounceOut, BounceIn: device memory through pinned host memory, chunk by chunk: while one chunk
// goes over the link to or from the device, another goes between the processes.
// Why: where devices cannot reach each other, or memory cannot be shared, or one end is the host.
// Data with holes is packed, or unpacked, on its device: what crosses the link is dense.
// Sizes: TERN_CUDA_CHUNK, TERN_CUDA_CHUNKS. Lifetime: of one message. Threads: under the channel's
// lock. See: pml/protocols/bounced.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_copy.hpp"

namespace tern::pml {

/// Of a transfer: memory for one chunk, and the device's work on it.
struct Chunk {
  cuda::Pinned room;
  std::unique_ptr<std::byte[]> pageable;  // instead, where pinned memory cannot be had now
  cuda::Block packed;                     // where the data has holes
  size_t bytes = 0;                       // in it
  size_t used = 0;                        // of them sent, or put in
  bool begun = false;                     // BounceIn: an earlier copy used the chunk
  cuda::Job job;                          // ends before its memory goes
  [[nodiscard]] std::byte* data() const noexcept {
    return pageable != nullptr ? pageable.get() : room.data();
  }
};

class Bounce {
 public:
  /// `buffer` lies on a device, which is found out unless `by` is to copy: the memory is a peer's
  /// then. Throws Error, std::bad_alloc.
  Bounce(core::Process& process, const core::Data& buffer, size_t bytes,
         cuda::Device* by = nullptr);
  [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 protected:
  /// Notes a failure of the job's. Throws nothing.
  bool sound(cuda::Job& job) noexcept;
  core::Data buffer_;
  size_t bytes_, chunk_bytes_;
  std::vector<Chunk> chunks_;
  std::string failure_;
};

class BounceOut final : public Bounce {
 public:
  using Bounce::Bounce;
  /// The bytes to send next; 0 until the device has copied more.
  [[nodiscard]] size_t ready(const std::byte** at) noexcept;
  void sent(size_t bytes) noexcept;

 private:
  void fetch_more() noexcept;
  size_t fetched_ = 0, first_ = 0;  // bytes asked of the device; the chunk to send next
};

class BounceIn final : public Bounce {
 public:
  using Bounce::Bounce;
  /// The next bytes of the message. With all chunks in flight to the device the call waits up to
  /// 20 ms, then keeps up to 64 MiB in host memory: a stream may wait for the caller's next call.
  void put(const std::byte* data, size_t bytes) noexcept;
  /// Whether everything that was put has arrived.
  [[nodiscard]] bool done() noexcept;

 private:
  void send_off(Chunk& chunk) noexcept;
  /// Number of bytes put into chunks; `patience` in ns, INT64_MAX: until all bytes are.
  size_t fill_chunks(const std::byte* data, size_t bytes, int64_t patience) noexcept;
  /// Moves aside_ into chunks. True: aside_ is empty.
  bool drain(int64_t patience) noexcept;
  size_t put_ = 0, sent_off_ = 0;  // bytes
  std::vector<std::byte> aside_;
  size_t drained_ = 0;  // bytes of aside_ in chunks
};

}  // namespace tern::pml
