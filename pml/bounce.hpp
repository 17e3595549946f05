// SPDX-License-Identifier: Apache-2.0
// BounceOut, BounceIn: device memory staged through pinned host memory, in overlapping chunks.
// Why: for devices without access to each other, unshareable memory, or a host buffer at one end.
// The device packs and unpacks, so only dense data crosses the link.
// Sizes: Params::cuda_chunk, cuda_chunks. Lifetime: one message. Threads: under the channel's
// lock. See: pml/protocols/bounced.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_copy.hpp"

namespace tern::pml {

struct Chunk {
  cuda::Pinned room;
  std::unique_ptr<std::byte[]> pageable;  // fallback without pinned memory
  cuda::Block packed;
  size_t bytes = 0;
  size_t used = 0;
  bool begun = false;  // by an earlier copy (BounceIn)
  cuda::Job job;       // destroyed first
  [[nodiscard]] std::byte* data() const noexcept {
    return pageable != nullptr ? pageable.get() : room.data();
  }
};

class Bounce {
 public:
  /// `by`: the copying device, for a peer's memory. Throws Error, std::bad_alloc.
  Bounce(core::Process& process, const core::Data& buffer, size_t bytes,
         cuda::Device* by = nullptr);
  [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 protected:
  bool sound(cuda::Job& job) noexcept;
  core::Data buffer_;
  size_t bytes_, chunk_bytes_;
  std::vector<Chunk> chunks_;
  std::string failure_;
};

class BounceOut final : public Bounce {
 public:
  using Bounce::Bounce;
  /// Returns the bytes ready to send; 0: none yet.
  [[nodiscard]] size_t ready(const std::byte** at) noexcept;
  void sent(size_t bytes) noexcept;

 private:
  void fetch_more() noexcept;
  size_t fetched_ = 0, first_ = 0;  // requested bytes; next chunk to send
};

class BounceIn final : public Bounce {
 public:
  using Bounce::Bounce;
  /// If all chunks are in flight, waits up to 20 ms, then keeps up to 64 MiB in host memory: a
  /// stream may wait for the caller's next call.
  void put(const std::byte* data, size_t bytes) noexcept;
  /// Whether all bytes have reached the device.
  [[nodiscard]] bool done() noexcept;

 private:
  void send_off(Chunk& chunk) noexcept;
  /// Returns the bytes put into chunks. `timeout` in ns; INT64_MAX: no limit.
  size_t fill_chunks(const std::byte* data, size_t bytes, int64_t timeout) noexcept;
  /// Returns true if aside_ is empty.
  bool drain(int64_t timeout) noexcept;
  size_t put_ = 0, sent_off_ = 0;
  std::vector<std::byte> aside_;
  size_t drained_ = 0;
};

}  // namespace tern::pml
