// SPDX-License-Identifier: Apache-2.0
// Track: what one enqueued operation puts into its stream: copies, kernels, words written and
// waited for. The first failure stays. No copy follows one, but words do, so that who waits for
// them goes on; where words themselves fail, nothing follows.
// Why: a cuda::Job owns its stream and waits for it; here the stream is the program's, maybe one
// that is captured, and nothing may wait.
// Lifetime: one call's. Threads: the caller's, who holds no lock of a channel: the driver may block
// where a queue is full.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/device_copy.hpp"
#include "stream/stream.hpp"

namespace tern::stream {

/// A word in pinned memory, which a stream and the proxy write in turns.
struct Word {
  std::atomic<uint32_t>* here = nullptr;
  CUdeviceptr at = 0;  // for the device
};

class Track {
 public:
  explicit Track(const Stream& stream) noexcept
      : stream_(stream), current_(stream.device()), driver_(stream.device().driver) {
    note("cuCtxPushCurrent", current_.result());
  }

  /// The bytes [offset, offset + bytes) of the packed form of device data, to or from pinned
  /// memory.
  void pack(const core::Data& data, size_t offset, std::byte* out, size_t bytes) noexcept;
  void unpack(const core::Data& data, size_t offset, const std::byte* in, size_t bytes) noexcept;
  /// `rows` rows of `width` bytes, of which one side lies `pitch` bytes apart.
  void copy_rows(std::byte* to, size_t to_pitch, const std::byte* from, size_t from_pitch,
                 size_t width, size_t rows) noexcept;

  /// Behind what is there: the stream waits until the word has the value, then may set it. These
  /// are collected, and put into the stream as one batch.
  void wait(const Word& word, uint32_t value) noexcept;
  void write(const Word& word, uint32_t value) noexcept;
  void flush() noexcept;

  /// How many waits and writes are in the stream; some may be missing for good.
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

/// Why data of this type on a device cannot be packed by a stream; empty where it can.
[[nodiscard]] std::string why_not_packed(const Stream& stream, const core::Data& data,
                                         const std::shared_ptr<const cuda::LayoutProgram>& program);

}  // namespace tern::stream
