// SPDX-License-Identifier: Apache-2.0
// SharedJob: fences, keys and abort.
#include "boot/shared_job.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/ended.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

constexpr std::uint64_t kMagic = 0x37746f6f424e5254;
constexpr std::size_t kHeapPerRank = 16 * 1024;
constexpr std::size_t kHeapBase = 1024 * 1024;
constexpr std::uint32_t kRecordAlign = 8;

/// A process in another PID namespace is invisible.
bool has_ended_as(std::int32_t owner, RankState state) noexcept {
  return owner > 0 ? has_ended(owner) : state == RankState::kFinalised;
}

}  // namespace

std::string world_key(int number) { return strf("world.%d", number); }

struct SharedJob::Header {
  std::uint64_t magic;
  std::uint32_t size;
  std::int32_t universe_size;
  std::int32_t server_pid;
  std::int32_t event_fd, keeper_fd;
  std::uint32_t domain;
  char id[64];
  alignas(64) std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> infos;
  std::atomic<std::uint32_t> sessions;
  alignas(64) std::atomic<std::uint32_t> heap_next;
  std::atomic<std::uint32_t> abort_claimed;
  std::atomic<std::uint32_t> abort_ready;
  std::int32_t abort_rank;
  std::int32_t abort_code;
  char abort_text[512];
};

struct alignas(64) SharedJob::Slot {
  ConnectionInfo info;
  std::atomic<RankState> state;
  std::atomic<std::uint32_t> newest_record;
  std::int32_t app;
  std::atomic<std::uint32_t> fences;  // entered plus left: odd inside
  std::atomic<std::int32_t> owner;
  std::atomic<std::int32_t> entry;  // of the connection info; 0: none
  std::atomic<std::int32_t> awaited;
  std::atomic<std::int32_t> programs;
};

struct SharedJob::Record {
  std::uint32_t older;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};

std::size_t SharedJob::bytes_for(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return sizeof(Header) + ranks * sizeof(Slot) + kHeapBase + ranks * kHeapPerRank +
         Questions::bytes_for(size) + KnownWorlds::bytes_for(size);
}

std::size_t SharedJob::heap_end() const noexcept {
  const auto size = static_cast<int>(size_);
  return map_.size() - Questions::bytes_for(size) - KnownWorlds::bytes_for(size);
}

void SharedJob::set_size(std::uint32_t size) noexcept {
  size_ = size;
  const auto ranks = static_cast<int>(size);
  std::byte* const end = map_.data() + heap_end();
  questions = Questions(end + KnownWorlds::bytes_for(ranks), ranks);
  worlds = KnownWorlds(end, ranks);
}

SharedJob SharedJob::create(int fd, const Facts& facts) {
  SharedJob job(Mapping::shared(fd, bytes_for(facts.size)));
  job.set_size(static_cast<std::uint32_t>(facts.size));
  auto* header = new (job.map_.data()) Header{};
  header->size = job.size_;
  header->universe_size = facts.universe_size;
  header->server_pid = facts.server_pid;
  header->event_fd = facts.event_fd;
  header->keeper_fd = facts.keeper_fd;
  header->domain = facts.domain;
  facts.id.copy(header->id, sizeof header->id - 1);
  const std::size_t heap = sizeof(Header) + job.size_ * sizeof(Slot);
  header->heap_next = static_cast<std::uint32_t>(heap);
  header->magic = kMagic;
  return job;
}

SharedJob SharedJob::attach(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(Header))) return {};
  // Only a memfd has a fixed size; the number may name another file.
  if (!has_fixed_size(fd) || (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) return {};
  SharedJob job(Mapping::shared(fd, static_cast<std::size_t>(info.st_size)));
  const Header& header = job.header();
  const std::uint32_t size = header.size;
  if (header.magic != kMagic || size == 0 || size > INT32_MAX / sizeof(Slot) ||
      job.map_.size() != bytes_for(static_cast<int>(size)))
    return {};
  job.set_size(size);
  return job;
}

SharedJob::Header& SharedJob::header() const noexcept {
  return *reinterpret_cast<Header*>(map_.data());
}

SharedJob::Slot& SharedJob::slot(int rank) const noexcept {
  TERN_ASSERT(rank >= 0 && static_cast<std::uint32_t>(rank) < size_);
  auto* slots = reinterpret_cast<Slot*>(map_.data() + sizeof(Header));
  return slots[rank];
}

SharedJob::Facts SharedJob::facts() const {
  const Header& h = header();
  return {static_cast<int>(size_),
          h.universe_size,
          h.server_pid,
          h.event_fd,
          std::string(h.id, ::strnlen(h.id, sizeof h.id)),
          h.keeper_fd,
          h.domain};
}

void SharedJob::set_app(int rank, int app) noexcept { slot(rank).app = app; }
int SharedJob::app(int rank) const noexcept { return slot(rank).app; }
void SharedJob::set_state(int rank, RankState state) noexcept { slot(rank).state = state; }
RankState SharedJob::state(int rank) const noexcept { return slot(rank).state; }
bool SharedJob::may_claim(int rank, std::int32_t pid) const noexcept {
  const std::int32_t owner = slot(rank).owner;
  return owner == 0 || owner == pid || has_ended_as(owner, state(rank));
}

bool SharedJob::claim(int rank, std::int32_t pid) noexcept {
  std::int32_t owner = slot(rank).owner;
  while (owner != pid) {
    if (owner != 0 && !has_ended_as(owner, state(rank))) return false;
    if (slot(rank).owner.compare_exchange_weak(owner, pid)) {
      slot(rank).programs.fetch_add(1);
      return true;
    }
  }
  return true;
}

std::int32_t SharedJob::owner(int rank) const noexcept { return slot(rank).owner; }
int SharedJob::programs(int rank) const noexcept { return slot(rank).programs; }

void SharedJob::put_connection_info(int rank, const ConnectionInfo& info, int entry) noexcept {
  slot(rank).info = info;
  slot(rank).entry.store(entry, std::memory_order_release);
  header().infos.fetch_add(1);
  futex_wake_all(header().infos);
}
bool SharedJob::has_connection_info(int rank, int entry) const noexcept {
  return slot(rank).entry.load(std::memory_order_acquire) >= entry;
}
int SharedJob::entry(int rank) const noexcept { return slot(rank).entry; }
FutexWord SharedJob::connection_info_word() const noexcept {
  return {&header().infos, header().infos};
}
void SharedJob::set_awaited(int rank, int awaited) noexcept { slot(rank).awaited = awaited + 1; }
int SharedJob::awaited(int rank) const noexcept { return slot(rank).awaited - 1; }
void SharedJob::set_sessions() noexcept { header().sessions = 1; }
bool SharedJob::sessions() const noexcept { return header().sessions != 0; }
ConnectionInfo SharedJob::connection_info(int rank) const noexcept { return slot(rank).info; }

void SharedJob::put(int rank, std::string_view key, std::string_view value) {
  Header& h = header();
  const std::size_t limit = heap_end();
  const std::size_t need =
      (sizeof(Record) + key.size() + value.size() + kRecordAlign - 1) / kRecordAlign * kRecordAlign;
  std::uint32_t offset = h.heap_next.load(std::memory_order_relaxed);
  do {
    if (record_at(offset) == nullptr || need > limit - offset)
      throw Error(MPI_ERR_NO_MEM,
                  strf("the start-up memory of this job is full: key \"%.*s\" with %zu bytes does "
                       "not fit; put fewer or smaller values",
                       static_cast<int>(key.size()), key.data(), value.size()));
  } while (!h.heap_next.compare_exchange_weak(offset, static_cast<std::uint32_t>(offset + need)));
  Slot& mine = slot(rank);
  auto* record = new (map_.data() + offset)
      Record{mine.newest_record.load(std::memory_order_relaxed),
             static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  auto* text = reinterpret_cast<char*>(record + 1);
  key.copy(text, key.size());
  value.copy(text + key.size(), value.size());
  mine.newest_record.store(offset, std::memory_order_release);
}

const SharedJob::Record* SharedJob::record_at(std::uint32_t offset) const noexcept {
  const std::size_t begin = sizeof(Header) + size_ * sizeof(Slot);
  if (offset < begin || offset % kRecordAlign != 0 || offset + sizeof(Record) > heap_end())
    return nullptr;
  return reinterpret_cast<const Record*>(map_.data() + offset);
}

bool SharedJob::get(int rank, std::string_view key, std::string* value) const {
  std::uint32_t offset = slot(rank).newest_record.load(std::memory_order_acquire);
  while (const Record* shared = record_at(offset)) {
    const Record record = *shared;  // a copy, since the memory may change
    const std::size_t room = heap_end() - offset - sizeof(Record);
    if (record.key_bytes > room || record.value_bytes > room - record.key_bytes) return false;
    const auto* text = reinterpret_cast<const char*>(shared + 1);
    if (std::string_view(text, record.key_bytes) == key) {
      value->assign(text + record.key_bytes, record.value_bytes);
      return true;
    }
    if (record.older >= offset && record.older != 0) return false;  // records link backwards only
    offset = record.older;
  }
  return false;
}

std::uint32_t SharedJob::start_fence(int rank) noexcept {
  Header& h = header();
  slot(rank).fences.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t seen = h.generation.load(std::memory_order_acquire);
  if (h.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    h.arrived.store(0, std::memory_order_relaxed);
    h.generation.fetch_add(1, std::memory_order_release);
    futex_wake_all(h.generation);
  }
  return seen;
}

bool SharedJob::fence_over(std::uint32_t fence) const noexcept {
  return header().generation.load(std::memory_order_acquire) != fence;
}

FutexWord SharedJob::fence_word(std::uint32_t fence) const noexcept {
  return {&header().generation, fence};
}

void SharedJob::end_fence(int rank) noexcept {
  slot(rank).fences.fetch_add(1, std::memory_order_relaxed);
}

bool SharedJob::fence_waits() const noexcept { return header().arrived.load() != 0; }
bool SharedJob::in_fence(int rank) const noexcept { return slot(rank).fences.load() % 2 == 1; }

void SharedJob::record_abort(int rank, int code, std::string_view text) noexcept {
  Header& h = header();
  set_state(rank, RankState::kAborted);
  if (h.abort_claimed.exchange(1) != 0) return;
  h.abort_rank = rank;
  h.abort_code = code;
  text.copy(h.abort_text, std::min(text.size(), sizeof h.abort_text - 1));
  h.abort_ready.store(1, std::memory_order_release);
}

SharedJob::Abort SharedJob::abort() const {
  const Header& h = header();
  if (h.abort_ready.load(std::memory_order_acquire) == 0) return {};
  return {h.abort_rank, h.abort_code,
          std::string(h.abort_text, ::strnlen(h.abort_text, sizeof h.abort_text))};
}

}  // namespace tern::boot
