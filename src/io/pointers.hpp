// SPDX-License-Identifier: Apache-2.0
// Pointers: the individual and the shared file pointer of a view, in etypes.
// The shared pointer is a word on rank 0's board: 8 bits of the view's number, 56 bits of etypes.
// Each rank counts its views; a word with an earlier number means 0, so setting a view takes no
// message.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "io/meeting.hpp"

namespace tern::io {

class Pointers {
 public:
  explicit Pointers(const Meeting& meeting) noexcept : meeting_(meeting) {}

  /// add() moves a pointer, and returns the position before.
  [[nodiscard]] int64_t add(int64_t etypes) noexcept {
    return individual_.fetch_add(etypes, std::memory_order_relaxed);
  }
  [[nodiscard]] int64_t individual() const noexcept {
    return individual_.load(std::memory_order_relaxed);
  }
  void set(int64_t etypes) noexcept { individual_.store(etypes, std::memory_order_relaxed); }

  // The shared pointer is unsupported if rank 0 is on another host.
  [[nodiscard]] Failure add_shared(int64_t etypes, int64_t* before) noexcept;
  [[nodiscard]] Failure shared(int64_t* etypes) noexcept { return add_shared(0, etypes); }
  [[nodiscard]] Failure set_shared(int64_t etypes) noexcept;

  /// A new view: both pointers are 0.
  void restart() noexcept {
    set(0);
    ++view_;
  }

 private:
  static constexpr int kBits = 56;
  static constexpr uint64_t kMost = (uint64_t{1} << kBits) - 1;
  [[nodiscard]] std::atomic<uint64_t>* word() const noexcept;
  [[nodiscard]] uint64_t tag() const noexcept { return uint64_t{view_} << kBits; }

  const Meeting& meeting_;
  std::atomic<int64_t> individual_{0};
  uint8_t view_ = 1;
};

}  // namespace tern::io
