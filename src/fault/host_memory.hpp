// SPDX-License-Identifier: Apache-2.0
// HostMemory: shared memory of a world's processes on a host: who is alive, the list of dead
// processes, and a table of board entries for each.
// Why: no process owns the memory, so the words of the dead stay readable.
// Lifetime: the lowest process makes the memory; all map it in MPI_Init. Threads: any process may
// call any function at once; a table has one writer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.hpp"
#include "base/futex.hpp"
#include "fault/board.hpp"
#include "fault/hosts.hpp"

namespace tern::fault {

class HostMemory {
 public:
  struct Shape {
    uint32_t deaths = 0;   // room in the list
    uint32_t members = 0;  // processes of the host
  };

  HostMemory() = default;
  /// `fd` is a file of bytes_for(shape) zeros. Throws Error.
  static HostMemory create(int fd, const Shape& shape);
  /// Throws Error if the file is another's.
  static HostMemory attach(int fd);
  static size_t bytes_for(const Shape& shape) noexcept;

  [[nodiscard]] bool valid() const noexcept { return map_.valid(); }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DeathList deaths() const noexcept;

  /// `process` is the number in the list, `pid` 0 for a process without /proc in common.
  void enter(uint32_t member, uint32_t process, int32_t pid, uint32_t domain) const noexcept;
  [[nodiscard]] bool has_entered(uint32_t member) const noexcept;
  /// Before the end of MPI: the end of the process is no failure.
  void leave(uint32_t member) const noexcept;
  [[nodiscard]] bool has_left(uint32_t member) const noexcept;
  /// 0: unknown here.
  [[nodiscard]] int32_t pid(uint32_t member, uint32_t domain) const noexcept;
  [[nodiscard]] uint32_t process(uint32_t member) const noexcept;

  /// Other members of the host sleep on the bell while they wait for an agreement.
  [[nodiscard]] FutexWord bell() const noexcept;
  void sleeps(bool begins) const noexcept;
  void ring() const noexcept;

  static constexpr uint32_t kEntries = 4096;
  /// Of communicators with agreements between hosts.
  static constexpr size_t kMostMembers = 1024;
  /// Returns the member's entry for a communicator, or null. `id` is not 0.
  [[nodiscard]] BoardEntry* find(uint32_t member, uint64_t id) const noexcept;
  /// Returns an entry with this id, or null if the table is full. The caller owns the table, and
  /// may_take() tells whether all members have left the agreements of a used entry.
  template <class MayTake>
  [[nodiscard]] BoardEntry* claim(uint32_t member, uint64_t id, const MayTake& may_take) const;

  /// The result of an agreement between hosts: the owner of the entry records, others read.
  void record(const BoardEntry& entry, uint64_t number, const HostResult& result) const noexcept;
  [[nodiscard]] std::optional<HostResult> recorded(const BoardEntry& entry, uint64_t number) const;

 private:
  struct Head;
  struct Member;
  struct Record;
  HostMemory(Mapping map, const Shape& shape) noexcept : map_(std::move(map)), shape_(shape) {}
  [[nodiscard]] Head& head() const noexcept;
  [[nodiscard]] Member& member(uint32_t index) const noexcept;
  [[nodiscard]] BoardEntry* tables() const noexcept;
  [[nodiscard]] std::span<BoardEntry> table(uint32_t index) const noexcept {
    return {tables() + size_t{index} * kEntries, kEntries};
  }
  [[nodiscard]] Record& record_of(const BoardEntry& entry) const noexcept;

  void rename(BoardEntry& entry, uint64_t id) const noexcept;

  Mapping map_;
  Shape shape_;
};

// Entries never become empty again, so a probe may end at the first empty entry.
template <class MayTake>
BoardEntry* HostMemory::claim(uint32_t member, uint64_t id, const MayTake& may_take) const {
  const std::span<BoardEntry> all = table(member);
  for (uint32_t i = 0; i < kEntries; ++i) {
    BoardEntry& entry = all[(id + i) % kEntries];
    if (entry.id.load(std::memory_order_relaxed) != 0 && !may_take(entry)) continue;
    rename(entry, id);
    return &entry;
  }
  return nullptr;
}

}  // namespace tern::fault
