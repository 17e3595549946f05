// SPDX-License-Identifier: Apache-2.0
// Streams: the library's streams in a context, each with a word of pinned memory for progress.
// Why: a stream query takes the driver's locks, and is repeated hundreds of times per copy; polling
// a word is free.
// Priority: the highest, because messages need few instructions and hold up peers. Lifetime: the
// Device's. Threads: any; a stream belongs to its holder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"

namespace tern::cuda {

/// Pinned memory for copies of pageable memory; 0 bytes: none. Used by a single stream at a time.
struct Stage {
  std::byte* at = nullptr;
  size_t bytes = 0;
};

/// `word` is null if the driver cannot write words. A few streams have `room` for small copies by
/// kernels.
struct Stream {
  static constexpr size_t kRoom = 8192;
  CUstream handle = nullptr;
  std::atomic<uint32_t>* word = nullptr;
  CUdeviceptr word_at = 0;
  uint32_t asked = 0;
  std::byte* room = nullptr;
  CUdeviceptr room_at = 0;
  Stage stage;
  bool staged = false;

  /// Enqueues a write of the word behind all work; returns false if impossible. Requires the
  /// context.
  [[nodiscard]] bool ask(const Driver& driver) noexcept;
  [[nodiscard]] bool has_come() const noexcept {
    return word->load(std::memory_order_acquire) == asked;
  }
};

class Streams {
 public:
  explicit Streams(const Driver& driver) noexcept : driver_(driver) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  /// idle() and make() give a stream to the caller alone. idle() returns a reused stream, or null.
  /// make() returns a new stream, or null with *error, and requires the context.
  [[nodiscard]] Stream* idle() noexcept;
  [[nodiscard]] Stream* make(CUresult* error) noexcept;
  /// Keeps the stream for reuse. The functions below require the context.
  [[nodiscard]] bool give_back(Stream* stream) noexcept;
  void end(Stream* stream) noexcept;
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  void destroy() noexcept;
  void forget() noexcept;

 private:
  void give_word(Stream* stream) noexcept;
  const Driver& driver_;
  std::mutex mutex_;
  std::deque<Stream> all_;
  std::vector<Stream*> idle_, ended_;
  std::byte* page_ = nullptr;
  CUdeviceptr page_at_ = 0;
  size_t words_ = 0;
};

}  // namespace tern::cuda
