// SPDX-License-Identifier: Apache-2.0
// Track: puts an operation into a stream: copies, kernels, writes of words and waits. The first
// failure sticks. After a failed copy, no copy follows, but words do, so that waiters go on. After
// a failed word, nothing follows.
// Why: a cuda::Job waits for its stream, but nothing may wait for the program's stream, perhaps in
// capture.
// Lifetime: a call. Threads: the caller's, without channel locks: the driver may block on a full
// queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/device_copy.hpp"
#include "stream/stream.hpp"

namespace tern::stream {

/// Word: a word in pinned memory, written by stream and proxy in turn.
struct Word {
  std::atomic<uint32_t>* here = nullptr;
  CUdeviceptr at = 0;
};

class Track {
 public:
  explicit Track(const Stream& stream) noexcept
      : stream_(stream), current_(stream.device()), driver_(stream.device().driver) {
    note("cuCtxPushCurrent", current_.result());
  }

  /// The copies move the bytes [offset, offset + bytes) of the packed form of device data, to or
  /// from pinned memory.
  void pack(const core::Data& data, size_t offset, std::byte* out, size_t bytes) noexcept;
  void unpack(const core::Data& data, size_t offset, const std::byte* in, size_t bytes) noexcept;
  void copy_rows(std::byte* to, size_t to_pitch, const std::byte* from, size_t from_pitch,
                 size_t width, size_t rows) noexcept;

  /// Batches collect waits and writes.
  void wait(const Word& word, uint32_t value) noexcept;
  void write(const Word& word, uint32_t value) noexcept;
  void flush() noexcept;

  /// After a failure some words may be missing.
  [[nodiscard]] int words() const noexcept { return put_; }
  [[nodiscard]] bool lacks_words() const noexcept { return lacks_words_; }
  [[nodiscard]] bool failed() const noexcept { return result_ != CUDA_SUCCESS; }
  [[nodiscard]] std::string failure() const { return cuda::words_of(function_, result_); }

 private:
  void note(const char* function, CUresult result) noexcept {
    if (result_ != CUDA_SUCCESS || result == CUDA_SUCCESS) return;
    result_ = result;
    function_ = function;
  }
  void add(CUstreamBatchMemOpType what, const Word& word, uint32_t value, unsigned flags) noexcept;
  void copy(void* to, const void* from, size_t bytes) noexcept;
  template <bool kPacks>
  void move(const core::Data& data, size_t offset, std::byte* packed, size_t bytes) noexcept;

  const Stream& stream_;
  const cuda::Current current_;
  const cuda::Driver& driver_;
  static constexpr size_t kMost = 8;
  std::array<CUstreamBatchMemOpParams, kMost> words_{};
  unsigned count_ = 0;
  int put_ = 0;
  bool lacks_words_ = false;
  CUresult result_ = CUDA_SUCCESS;
  const char* function_ = "";
};

[[nodiscard]] std::string why_not_packed(const Stream& stream, const core::Data& data,
                                         const std::shared_ptr<const cuda::LayoutProgram>& program);

}  // namespace tern::stream
