// SPDX-License-Identifier: Apache-2.0
// Area: shared memory between the threads of a process, which write records, and a Drain.
// Why: a rank never writes a file, and a killed rank's records stay readable.
// Layout: AreaHead; lines of definitions; profile; in a trace a ring of passing lines, and per
// thread a ThreadHead and a ring of records. Passing lines (communicators) have no bound in number,
// and stay until the Drain has taken them.
// The file is sparse: unused parts cost no memory. The reader trusts only its own `AreaSizes`.
// Threads: a ring has a single writer and a single reader, in different processes; neither waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.hpp"

namespace tern::trace {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kDefinitionBytes = size_t{3} << 19;
inline constexpr size_t kPassingBytes = size_t{1} << 19;
inline constexpr size_t kProfileBytes = size_t{256} << 10;
inline constexpr uint32_t kMostThreads = 64;

/// AreaSizes is equal at both ends. ring_records is a power of two, or 0 for a profile alone.
struct AreaSizes {
  uint64_t ring_records = 0;
  [[nodiscard]] constexpr size_t ring_bytes() const noexcept {
    return kPage + ring_records * sizeof(Record);
  }
  [[nodiscard]] constexpr size_t definitions_at() const noexcept { return kPage; }
  [[nodiscard]] constexpr size_t profile_at() const noexcept { return kPage + kDefinitionBytes; }
  [[nodiscard]] constexpr size_t passing_at() const noexcept {
    return profile_at() + kProfileBytes;
  }
  [[nodiscard]] constexpr size_t thread_at(uint32_t thread) const noexcept {
    return passing_at() + (ring_records == 0 ? 0 : kPassingBytes) + thread * ring_bytes();
  }
  [[nodiscard]] constexpr size_t bytes() const noexcept {
    return thread_at(ring_records == 0 ? 0 : kMostThreads);
  }
};

/// ring_sizes() takes the bytes of TERN_TRACE_BUFFER, and rounds up.
[[nodiscard]] constexpr AreaSizes ring_sizes(uint64_t buffer_bytes) noexcept {
  uint64_t records = 64;
  while (records * sizeof(Record) < buffer_bytes) records *= 2;
  return {records};
}

inline constexpr uint64_t kAreaMagic = 0x31616572416e7265;  // "ernArea1"

struct AreaHead {
  uint64_t magic;                         // written by the maker
  std::atomic<int32_t> pid;               // of the recording process; 0: none yet
  std::atomic<uint32_t> threads;          // rings in use so far
  std::atomic<uint64_t> definitions;      // bytes
  std::atomic<uint64_t> passing, passed;  // bytes, ever: written, taken by the Drain
  std::atomic<uint64_t> lost_lines;       // without room
  std::atomic<uint64_t> lost;             // records of threads without a ring
  std::atomic<uint32_t> profile_rows;
  std::atomic<uint32_t> ended;  // the process has left MPI
  int64_t begin_ns;             // the recorder's start
  std::atomic<int64_t> end_ns;
};
static_assert(sizeof(AreaHead) <= kPage);

struct ThreadHead {
  std::atomic<uint64_t> written;  // records, ever
  // The open call. `open.begin` is 0 outside of calls, and is written last.
  Record open;
};
static_assert(sizeof(ThreadHead) <= kPage);

/// Area is a view of mapped memory.
class Area {
 public:
  Area() = default;
  Area(std::byte* memory, const AreaSizes& sizes) noexcept : memory_(memory), sizes_(sizes) {}
  [[nodiscard]] bool valid() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] const AreaSizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] AreaHead& head() const noexcept { return *at<AreaHead>(0); }
  [[nodiscard]] char* definitions() const noexcept { return at<char>(sizes_.definitions_at()); }
  [[nodiscard]] char* passing() const noexcept { return at<char>(sizes_.passing_at()); }
  [[nodiscard]] std::byte* profile() const noexcept { return memory_ + sizes_.profile_at(); }
  [[nodiscard]] ThreadHead& thread(uint32_t index) const noexcept {
    return *at<ThreadHead>(sizes_.thread_at(index));
  }
  [[nodiscard]] Record* ring(uint32_t index) const noexcept {
    return at<Record>(sizes_.thread_at(index) + kPage);
  }

 private:
  template <class T>
  [[nodiscard]] T* at(size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  std::byte* memory_ = nullptr;
  AreaSizes sizes_;
};

/// Names the inherited descriptor of mpirun's areas: "FD RING_RECORDS".
inline constexpr const char* kAreaVariable = "TERN_TRACE_FD";

}  // namespace tern::trace
