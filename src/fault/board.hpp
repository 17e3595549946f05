// SPDX-License-Identifier: Apache-2.0
// SharedBoard: the board of an agreement in shared memory. DeathList: the host's dead processes.
// Why: the halves of dead ranks stay readable in mapped memory.
// Lifetime: the caller's mappings outlive both. Threads: any process may add to a list; only the
// owner writes an entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fault/agreement.hpp"

namespace tern::fault {

/// A rank's entry for a communicator; shared memory starts zeroed.
struct alignas(64) BoardEntry {
  struct Half {
    std::atomic<uint64_t> number{0};
    std::atomic<uint32_t> flag{0}, seen{0}, acked{0};
  };
  std::atomic<uint64_t> id{0};
  Half halves[2];
  std::atomic<uint64_t> left{0};  // the number of the last agreement that the owner has left
};
static_assert(sizeof(BoardEntry) == 64);

/// A cell has a process number plus 1. A writer's death in add() blocks no other writer.
class DeathList {
 public:
  explicit DeathList(std::span<std::atomic<uint32_t>> cells) noexcept : cells_(cells) {}

  /// Adds a process once; returns the position, or the count of cells if the list is full.
  uint32_t add(uint32_t process) noexcept;
  /// Returns the length of the list, from a length known earlier.
  [[nodiscard]] uint32_t length(uint32_t known = 0) const noexcept {
    while (known < cells_.size() && cells_[known].load(std::memory_order_acquire) != 0) ++known;
    return known;
  }
  [[nodiscard]] uint32_t at(uint32_t position) const noexcept {
    return cells_[position].load(std::memory_order_acquire) - 1;
  }
  /// Looks among the first `length` entries.
  [[nodiscard]] bool has(uint32_t process, uint32_t length) const noexcept;

 private:
  std::span<std::atomic<uint32_t>> cells_;
};

/// Asks the kernel, by pidfd or waitid, whether a process has ended; a zombie with living threads
/// has not ended.
struct DeathQuery {
  bool (*has_ended)(void* self, uint32_t process) noexcept = nullptr;
  void* self = nullptr;
};

class SharedBoard {
 public:
  /// `entries` has an entry per member, or null; `processes` has the members' numbers in the list.
  SharedBoard(int self, std::span<BoardEntry* const> entries, std::span<const uint32_t> processes,
              DeathList list, DeathQuery query) noexcept
      : self_(self), entries_(entries), processes_(processes), list_(list), query_(query) {}

  void store(uint64_t number, Field field, uint64_t value) noexcept;
  [[nodiscard]] uint64_t load(int member, uint64_t number, Field field) const noexcept;
  /// Adds a death that the query finds to the list.
  [[nodiscard]] bool is_dead(int member) noexcept;
  [[nodiscard]] uint32_t deaths() noexcept { return known_ = list_.length(known_); }
  [[nodiscard]] int dead_member(uint32_t position) const noexcept;

 private:
  [[nodiscard]] BoardEntry* entry(int member) const noexcept {
    return entries_[static_cast<size_t>(member)];
  }

  int self_;
  uint32_t known_ = 0;
  std::span<BoardEntry* const> entries_;
  std::span<const uint32_t> processes_;
  DeathList list_;
  DeathQuery query_;
};

inline void SharedBoard::store(uint64_t number, Field field, uint64_t value) noexcept {
  BoardEntry::Half& half = entry(self_)->halves[number % 2];
  const auto word = static_cast<uint32_t>(value);
  switch (field) {
    case Field::kNumber:
      return half.number.store(value, std::memory_order_release);
    case Field::kFlag:
      return half.flag.store(word, std::memory_order_relaxed);
    case Field::kSeen:
      return half.seen.store(word, std::memory_order_relaxed);
    case Field::kAcked:
      return half.acked.store(word, std::memory_order_relaxed);
  }
}

inline uint64_t SharedBoard::load(int member, uint64_t number, Field field) const noexcept {
  const BoardEntry* place = entry(member);
  if (place == nullptr) return 0;
  const BoardEntry::Half& half = place->halves[number % 2];
  switch (field) {
    case Field::kNumber:
      return half.number.load(std::memory_order_acquire);
    case Field::kFlag:
      return half.flag.load(std::memory_order_relaxed);
    case Field::kSeen:
      return half.seen.load(std::memory_order_relaxed);
    default:
      return half.acked.load(std::memory_order_relaxed);
  }
}

}  // namespace tern::fault
