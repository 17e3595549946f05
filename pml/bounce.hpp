// SPDX-License-Identifier: Apache-2.0
// BounceOut, BounceIn: device memory staged through pinned host memory, in overlapping chunks. Why:
// for devices without access to each other, unshareable memory, or a host buffer of sender or
// receiver. The device packs and unpacks, so only dense data crosses the link. Lifetime: one
// message.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device_copy.hpp"

namespace tern::pml {

struct Chunk {
  cuda::Pinned room;
  std::unique_ptr<std::byte[]> pageable;
  cuda::Block packed;
  size_t bytes = 0;
  size_t used = 0;
  bool begun = false;
  cuda::Job job;
  [[nodiscard]] std::byte* data() const noexcept {
    return pageable != nullptr ? pageable.get() : room.data();
  }
};

class Bounce {
 public:
  /// `by`: the device that copies a peer's memory.
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
  /// ready() returns the bytes ready to send, or 0.
  [[nodiscard]] size_t ready(const std::byte** at) noexcept;
  void sent(size_t bytes) noexcept;

 private:
  void fetch_more() noexcept;
  size_t fetched_ = 0, first_ = 0;
};

class BounceIn final : public Bounce {
 public:
  using Bounce::Bounce;
  /// If all chunks are in flight, put() waits up to 20 ms, then keeps up to 64 MiB in host memory,
  /// because a stream may wait for the caller's next call.
  void put(const std::byte* data, size_t bytes) noexcept;
  /// place() and placed() replace put() for a caller that writes into chunks: the place of the next
  /// *bytes, or null while the device copies that chunk.
  [[nodiscard]] std::byte* place(size_t* bytes) noexcept;
  void placed(size_t bytes) noexcept;
  /// No more bytes come.
  void end() noexcept;
  [[nodiscard]] bool done() noexcept;

 private:
  [[nodiscard]] Chunk& next_chunk() noexcept {
    return chunks_[put_ / chunk_bytes_ % chunks_.size()];
  }
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
