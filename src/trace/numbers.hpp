// SPDX-License-Identifier: Apache-2.0
// MessageNumbers: counts the messages of a communicator per peer and tag, in one direction.
// Why: readers match the n-th send with the n-th receive, without a byte on the wire.
// Cost: one hash. Threads: the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace tern::trace {

class MessageNumbers {
 public:
  /// next() begins with 1, and returns 0 (unknown) without memory for a new peer.
  [[nodiscard]] uint64_t next(int peer, int tag) noexcept {
    const uint64_t key = key_of(peer, tag);
    size_t at = place(key);
    if (cells_ == nullptr || (!cells_[at].used && used_ * 2 >= size_)) {
      if (!grow()) return 0;
      at = place(key);
    }
    Cell& cell = cells_[at];
    if (!cell.used) {
      cell.key = key;
      cell.used = true;
      ++used_;
    }
    return ++cell.count;
  }
  /// Undoes the next() that gave `number`, unless another followed.
  void take_back(int peer, int tag, uint64_t number) noexcept {
    if (cells_ == nullptr) return;
    Cell& cell = cells_[place(key_of(peer, tag))];
    if (cell.used && cell.count == number) --cell.count;
  }

 private:
  struct Cell {
    uint64_t key = 0, count = 0;
    bool used = false;
  };
  [[nodiscard]] static uint64_t key_of(int peer, int tag) noexcept {
    return static_cast<uint64_t>(static_cast<uint32_t>(peer)) << 32 | static_cast<uint32_t>(tag);
  }
  [[nodiscard]] size_t place(uint64_t key) const noexcept {
    if (cells_ == nullptr) return 0;
    size_t at = (key * 0x9e3779b97f4a7c15ULL >> 32) & (size_ - 1);
    while (cells_[at].used && cells_[at].key != key) at = (at + 1) & (size_ - 1);
    return at;
  }
  bool grow() noexcept {
    const size_t size = size_ == 0 ? 16 : size_ * 2;
    std::unique_ptr<Cell[]> cells(new (std::nothrow) Cell[size]);
    if (cells == nullptr) return false;
    std::swap(cells, cells_);
    const size_t before = std::exchange(size_, size);
    for (size_t i = 0; i < before; ++i)
      if (cells[i].used) cells_[place(cells[i].key)] = cells[i];
    return true;
  }

  std::unique_ptr<Cell[]> cells_;
  size_t size_ = 0, used_ = 0;
};

}  // namespace tern::trace
