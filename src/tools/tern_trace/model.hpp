// SPDX-License-Identifier: Apache-2.0
// A trace in memory: processes, lanes (one per thread), names, communicators. Records stay in the
// mapped files.
// Lifetime: Trace owns the mappings; pointers to records die with the Trace. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/tern_trace/flat_map.hpp"
#include "trace/format.hpp"

namespace tern::trace_tool {

using trace::Record;
using trace::RecordKind;

/// Texts as numbers, from 0.
class Names {
 public:
  uint32_t number(const std::string& text);
  [[nodiscard]] const std::string& text(uint32_t number) const { return texts_.at(number); }
  [[nodiscard]] size_t size() const noexcept { return texts_.size(); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

/// How ranks of a collective wait for each other.
enum class Shape : uint8_t { kNone, kAll, kFromRoot, kToRoot, kPrefix };

/// A function's family: waits of epochs and collectives differ by name.
struct Function {
  std::string name;
  Shape shape = Shape::kAll;
  bool single = false;  // waits for one message alone: MPI_Recv, MPI_Wait, not MPI_Waitall
};

/// A communicator as one process sees it; lists are indices into Trace::lists.
struct Comm {
  uint32_t key = 0;
  uint32_t members = 0, remote = 0;
};

/// Job's time = local + offset(local), linear through two lines "clock".
struct Clock {
  int64_t at = 0, offset = 0, residual = 0;
  double slope = 0;
  [[nodiscard]] int64_t job_time(int64_t local) const noexcept {
    return local + offset + static_cast<int64_t>(slope * static_cast<double>(local - at));
  }
};

struct ClockLine {
  int64_t local = 0, offset = 0, residual = 0;
};

struct Process {
  std::string world, host, command, end;
  int32_t rank = -1, world_size = 0;
  uint32_t row = 0;  // place in Trace::by_row
  int64_t pid = 0;
  std::unordered_map<uint32_t, uint32_t> functions, sites, labels, details;  // number to name
  std::unordered_map<uint32_t, Comm> comms;
  std::vector<ClockLine> clock_lines;
  Clock clock;
  uint64_t lost = 0;        // records, by the line "end" or the blocks
  uint64_t lost_here = 0;   // by the blocks
  uint64_t lost_lines = 0;  // of definitions
};

/// Adjacent records in a file.
struct Span {
  const Record* first = nullptr;
  size_t count = 0;
  size_t before = 0;  // records of the lane in earlier spans
};

/// The records of one thread, by ascending end.
struct Lane {
  uint32_t process = 0, thread = 0;
  std::vector<Span> spans;
  std::vector<const Record*> device;  // kDevice, not by time
  size_t records = 0;                 // in spans
  int64_t first = 0, last = 0;        // job's time

  [[nodiscard]] const Record& at(size_t index) const noexcept;
};

/// A list of members: processes by rank, or kUnknown.
struct Members {
  std::string world, text;
  std::vector<uint32_t> processes;
};

class MappedFile {
 public:
  explicit MappedFile(const std::string& name);  // throws tern::Error
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] const char* data() const noexcept { return data_; }
  [[nodiscard]] size_t size() const noexcept { return size_; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

struct AllNames {
  Names functions, sites, labels, details, keys, lists;
};

struct Trace {
  static constexpr uint32_t kUnknown = ~0u;

  std::vector<std::unique_ptr<MappedFile>> files;
  std::vector<std::string> file_names;
  std::vector<Process> processes;
  std::vector<uint32_t> by_row;  // processes by world and rank
  std::vector<Lane> lanes;
  std::vector<Function> functions;
  AllNames names;
  std::vector<Members> lists;
  std::unordered_map<std::string, std::string> world_of_hash;
  std::vector<std::string> remarks;  // omitted parts, in sentences
  uint64_t records = 0, lost = 0, damaged = 0;
  int64_t start = 0, end = 0;  // job's time
  int64_t start_unix_ns = 0;
  int64_t worst_residual = 0;
  bool has_clocks = false, several_worlds = false;

  [[nodiscard]] const Clock& clock_of(const Lane& lane) const noexcept {
    return processes[lane.process].clock;
  }
  [[nodiscard]] int64_t begin_of(const Lane& lane, const Record& record) const noexcept {
    return clock_of(lane).job_time(record.begin);
  }
  [[nodiscard]] int64_t end_of(const Lane& lane, const Record& record) const noexcept {
    return clock_of(lane).job_time(record.end);
  }
  [[nodiscard]] double run_seconds() const noexcept {
    return static_cast<double>(end - start) * 1e-9;
  }
  /// "3", or "3 of w2" in a job of several worlds.
  [[nodiscard]] std::string rank_name(uint32_t process) const;
  /// The first frame, without folders.
  [[nodiscard]] std::string site_name(uint32_t site) const;
};

/// Whether the record is a call of its own, not a part or a completion of another.
[[nodiscard]] inline bool is_call(const Record& record) noexcept {
  switch (record.kind) {
    case RecordKind::kSendDone:
    case RecordKind::kReceiveDone:
    case RecordKind::kCollectiveDone:
    case RecordKind::kRegionBegin:
    case RecordKind::kRegionEnd:
    case RecordKind::kDevice:
      return false;
    default:
      return (record.flags & trace::kPart) == 0;
  }
}

[[nodiscard]] Function function_named(const std::string& name);

}  // namespace tern::trace_tool
