// SPDX-License-Identifier: Apache-2.0
// Streams: the library's own streams in one context, each with a word of pinned memory that it
// writes when its work has come so far.
// Why: who asks the driver whether work has ended takes its locks, several calls each time, and
// asks hundreds of times for one copy; reading a word costs nothing.
// They have the highest priority: a message waits for few instructions, and holds up a peer.
// Lifetime: of a Device. Threads: any; a stream is its holder's alone.
// Small copies use the word, too: the kernel that moves them sets it.
// See: tests/gpu/mpi/driver_calls.cc, tests/unit/cuda/streams_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"

namespace tern::cuda {

/// Pinned memory for copies of pageable memory; 0 bytes: none. One stream at a time uses a stage.
struct Stage {
  std::byte* at = nullptr;
  size_t bytes = 0;
};

/// A stream, and where its word is: null where the driver cannot write one; and room in pinned
/// memory for small copies by kernels, which few streams have.
struct Stream {
  static constexpr size_t kRoom = 8192;
  CUstream handle = nullptr;
  std::atomic<uint32_t>* word = nullptr;
  CUdeviceptr word_at = 0;  // for the device
  uint32_t asked = 0;       // the last value that it was asked to write
  std::byte* room = nullptr;
  CUdeviceptr room_at = 0;
  Stage stage;
  bool staged = false;  // some copy has used the stage

  /// Asks it to write its word behind all that was begun; false where it cannot. The context is
  /// current.
  [[nodiscard]] bool ask(const Driver& driver) noexcept;
  /// Whether it has written what it was last asked to.
  [[nodiscard]] bool has_come() const noexcept {
    return word->load(std::memory_order_acquire) == asked;
  }
};

class Streams {
 public:
  explicit Streams(const Driver& driver) noexcept : driver_(driver) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  /// For the caller's use alone: one that was given back, or null; a new one, or null with *error,
  /// where the context is current.
  [[nodiscard]] Stream* idle() noexcept;
  [[nodiscard]] Stream* make(CUresult* error) noexcept;
  /// Keeps it for the next; the context is current in the others.
  [[nodiscard]] bool give_back(Stream* stream) noexcept;
  void end(Stream* stream) noexcept;
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  void destroy() noexcept;
  /// They went with their context.
  void forget() noexcept;

 private:
  void give_word(Stream* stream) noexcept;
  const Driver& driver_;
  std::mutex mutex_;
  std::deque<Stream> all_;
  std::vector<Stream*> idle_, ended_;
  std::byte* page_ = nullptr;  // of words, then of rooms
  CUdeviceptr page_at_ = 0;
  size_t words_ = 0;  // given out
};

}  // namespace tern::cuda
