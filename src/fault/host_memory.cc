// SPDX-License-Identifier: Apache-2.0
#include "fault/host_memory.hpp"

#include <sys/stat.h>

#include <bitset>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::fault {
namespace {

constexpr uint64_t kMagic = 0x6472616f424e5254;
constexpr size_t kLineBytes = 64;

size_t in_lines(size_t bytes) noexcept {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

using Bits = std::bitset<HostMemory::kMostMembers>;

Bits bits_of(const std::vector<int>& members) noexcept {
  Bits bits;
  for (const int member : members) bits.set(static_cast<size_t>(member));
  return bits;
}

std::vector<int> members_in(const Bits& bits) {
  std::vector<int> members;
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits.test(i)) members.push_back(static_cast<int>(i));
  return members;
}

}  // namespace

struct alignas(kLineBytes) HostMemory::Record {
  struct Half {
    std::atomic<uint64_t> number;
    uint32_t root, flag;
    Bits failed, acked;
  };
  Half halves[2];
};

struct alignas(kLineBytes) HostMemory::Head {
  uint64_t magic;
  Shape shape;
  alignas(kLineBytes) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> sleepers;
};

struct alignas(kLineBytes) HostMemory::Member {
  std::atomic<uint32_t> process;
  std::atomic<uint32_t> domain;
  std::atomic<int32_t> pid;
  std::atomic<uint32_t> left;
};

size_t HostMemory::bytes_for(const Shape& shape) noexcept {
  return sizeof(Head) + in_lines(shape.deaths * sizeof(uint32_t)) +
         shape.members * (sizeof(Member) + kEntries * (sizeof(BoardEntry) + sizeof(Record)));
}

HostMemory HostMemory::create(int fd, const Shape& shape) {
  HostMemory made(Mapping::shared(fd, bytes_for(shape)), shape);
  made.head().shape = shape;
  made.head().magic = kMagic;
  return made;
}

HostMemory HostMemory::attach(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || static_cast<size_t>(info.st_size) < sizeof(Head))
    throw Error(MPI_ERR_INTERN, "the memory of the failure detector is too small");
  HostMemory found(Mapping::shared(fd, static_cast<size_t>(info.st_size)), {});
  const Shape shape = found.head().shape;
  if (found.head().magic != kMagic || bytes_for(shape) != found.map_.size())
    throw Error(MPI_ERR_INTERN, "the memory of the failure detector belongs to another version");
  found.shape_ = shape;
  return found;
}

HostMemory::Head& HostMemory::head() const noexcept {
  return *reinterpret_cast<Head*>(map_.data());
}

DeathList HostMemory::deaths() const noexcept {
  auto* const cells = reinterpret_cast<std::atomic<uint32_t>*>(map_.data() + sizeof(Head));
  return DeathList({cells, shape_.deaths});
}

HostMemory::Member& HostMemory::member(uint32_t index) const noexcept {
  auto* const members = reinterpret_cast<Member*>(map_.data() + sizeof(Head) +
                                                  in_lines(shape_.deaths * sizeof(uint32_t)));
  return members[index];
}

BoardEntry* HostMemory::tables() const noexcept {
  return reinterpret_cast<BoardEntry*>(&member(shape_.members));
}

HostMemory::Record& HostMemory::record_of(const BoardEntry& entry) const noexcept {
  auto* const all = reinterpret_cast<Record*>(tables() + size_t{shape_.members} * kEntries);
  return all[&entry - tables()];
}

void HostMemory::record(const BoardEntry& entry, uint64_t number,
                        const HostResult& result) const noexcept {
  Record::Half& half = record_of(entry).halves[number % 2];
  half.root = static_cast<uint32_t>(result.root);
  half.flag = result.word.flag;
  half.failed = bits_of(result.word.failed);
  half.acked = bits_of(result.word.acked);
  half.number.store(number, std::memory_order_release);
}

std::optional<HostResult> HostMemory::recorded(const BoardEntry& entry, uint64_t number) const {
  const Record::Half& half = record_of(entry).halves[number % 2];
  if (half.number.load(std::memory_order_acquire) != number) return std::nullopt;
  return HostResult{{half.flag, members_in(half.failed), members_in(half.acked)},
                    static_cast<int>(half.root)};
}

void HostMemory::enter(uint32_t index, uint32_t process, int32_t pid,
                       uint32_t domain) const noexcept {
  Member& self = member(index);
  self.process.store(process, std::memory_order_relaxed);
  self.domain.store(domain, std::memory_order_relaxed);
  self.pid.store(pid, std::memory_order_release);
}

bool HostMemory::has_entered(uint32_t index) const noexcept {
  return member(index).pid.load(std::memory_order_acquire) != 0;
}

void HostMemory::leave(uint32_t index) const noexcept {
  member(index).left.store(1, std::memory_order_release);
  ring();
}

bool HostMemory::has_left(uint32_t index) const noexcept {
  return member(index).left.load(std::memory_order_acquire) != 0;
}

int32_t HostMemory::pid(uint32_t index, uint32_t domain) const noexcept {
  const Member& one = member(index);
  const int32_t pid = one.pid.load(std::memory_order_acquire);
  return one.domain.load(std::memory_order_relaxed) == domain ? pid : 0;
}

uint32_t HostMemory::process(uint32_t index) const noexcept {
  return member(index).process.load(std::memory_order_relaxed);
}

FutexWord HostMemory::bell() const noexcept {
  return {&head().bell, head().bell.load(std::memory_order_acquire)};
}

void HostMemory::sleeps(bool begins) const noexcept {
  if (begins)
    head().sleepers.fetch_add(1, std::memory_order_seq_cst);
  else
    head().sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

// A sleeper counts itself, then reads the board once more.
void HostMemory::ring() const noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (head().sleepers.load(std::memory_order_relaxed) == 0) return;
  head().bell.fetch_add(1, std::memory_order_release);
  futex_wake_all(head().bell);
}

BoardEntry* HostMemory::find(uint32_t index, uint64_t id) const noexcept {
  const std::span<BoardEntry> all = table(index);
  for (uint32_t i = 0; i < kEntries; ++i) {
    BoardEntry& entry = all[(id + i) % kEntries];
    const uint64_t found = entry.id.load(std::memory_order_acquire);
    if (found == id) return &entry;
    if (found == 0) break;
  }
  return nullptr;
}

void HostMemory::rename(BoardEntry& entry, uint64_t id) const noexcept {
  for (BoardEntry::Half& half : entry.halves) half.number.store(0, std::memory_order_relaxed);
  for (Record::Half& half : record_of(entry).halves)
    half.number.store(0, std::memory_order_relaxed);
  entry.left.store(0, std::memory_order_relaxed);
  entry.id.store(id, std::memory_order_release);
}

}  // namespace tern::fault
