// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::trace_tool {
namespace {

constexpr int64_t kLargestTime = int64_t{1} << 60;
constexpr size_t kMostProcesses = size_t{1} << 20;
constexpr uint64_t kMostRecords = uint64_t{1} << 31;

/// Reads one file into a trace.
class FileReader {
 public:
  FileReader(Trace* trace, const MappedFile& file, const std::string& name)
      : trace_(trace), file_(file), name_(name) {}

  void read() {
    size_t at = check_head();
    while (at < file_.size()) {
      trace::BlockHead head;
      if (file_.size() - at < sizeof head) return torn(at, "the last block is torn");
      std::memcpy(&head, file_.data() + at, sizeof head);
      if (head.magic != trace::kBlockMagic) return torn(at, "no block begins here");
      const size_t body = at + sizeof head;
      if (head.bytes > file_.size() - body) return torn(at, "the last block is torn");
      if (head.bytes % 8 != 0) return torn(at, "the block's length is no multiple of 8");
      if (!block(head, body)) return torn(at, "the block's process is out of range");
      at = body + head.bytes;
    }
  }

 private:
  size_t check_head() {
    trace::FileHead head{};
    const bool whole = file_.size() >= sizeof head;
    if (whole) std::memcpy(&head, file_.data(), sizeof head);
    if (!whole || std::memcmp(head.magic, trace::kMagic, sizeof head.magic) != 0)
      throw Error(MPI_ERR_FILE,
                  strf("%s is no trace of Tern; mpirun --trace=FILE writes one", name_.c_str()));
    if (head.byte_order != trace::kByteOrder)
      throw Error(MPI_ERR_FILE, strf("%s was written on a machine of the other byte order; read "
                                     "the file there",
                                     name_.c_str()));
    if (head.version != trace::kVersion)
      throw Error(MPI_ERR_FILE, strf("%s has format %u, this tern_trace reads format %u; take the "
                                     "tern_trace of the Tern that wrote the file",
                                     name_.c_str(), head.version, trace::kVersion));
    if (head.head_bytes < sizeof head || head.head_bytes > file_.size() || head.head_bytes % 8 != 0)
      throw Error(MPI_ERR_FILE, strf("%s is damaged: its head has %llu bytes", name_.c_str(),
                                     static_cast<unsigned long long>(head.head_bytes)));
    if (trace_->start_unix_ns == 0) trace_->start_unix_ns = head.start_unix_ns;
    return head.head_bytes;
  }

  void torn(size_t at, const char* why) {
    trace_->remarks.push_back(strf("%s: %s; %zu of %zu bytes, from byte %zu on, are omitted",
                                   name_.c_str(), why, file_.size() - at, file_.size(), at));
  }

  bool block(const trace::BlockHead& head, size_t body) {
    if (head.kind != trace::BlockKind::kDefinitions && head.kind != trace::BlockKind::kRecords)
      return true;
    if (head.process >= kMostProcesses) return false;
    const auto [place, fresh] =
        processes_.try_emplace(head.process, static_cast<uint32_t>(trace_->processes.size()));
    if (fresh) trace_->processes.emplace_back();
    if (head.kind == trace::BlockKind::kDefinitions)
      definitions(place->second, {file_.data() + body, head.bytes});
    else
      records(place->second, head, body);
    return true;
  }

  void definitions(uint32_t process, std::string_view text) {
    size_t bad = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0 && !read_definition(trace_, &trace_->processes[process], text.substr(0, end)))
        ++bad;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (bad > 0)
      trace_->remarks.push_back(
          strf("%s: %zu damaged lines of definitions are omitted", name_.c_str(), bad));
  }

  Lane& lane_of(uint32_t process, uint32_t thread) {
    const uint64_t key = uint64_t{process} << 32 | thread;
    const auto [place, fresh] = lanes_.try_emplace(key, trace_->lanes.size());
    if (fresh) {
      trace_->lanes.emplace_back();
      trace_->lanes.back().process = process;
      trace_->lanes.back().thread = thread;
      ends_.push_back(0);
      bases_ = trace_->lanes.size() - ends_.size();
    }
    return trace_->lanes[place->second];
  }

  static bool sane(const Record& record) noexcept {
    return record.begin >= 0 && record.begin <= record.end && record.end <= kLargestTime &&
           record.bytes >= -1 && record.bytes <= kLargestTime && record.kind >= RecordKind::kCall &&
           record.kind <= RecordKind::kDevice;
  }

  void records(uint32_t process, const trace::BlockHead& head, size_t body) {
    trace_->lost += head.lost;
    if (head.lost > 0) trace_->processes[process].lost_here += head.lost;
    const Record* first = reinterpret_cast<const Record*>(file_.data() + body);
    const size_t count = head.bytes / sizeof(Record);
    Lane& lane = lane_of(process, head.thread);
    int64_t& end = ends_[static_cast<size_t>(&lane - trace_->lanes.data()) - bases_];
    size_t from = 0;
    const auto close = [&](size_t to) {
      if (to > from) lane.spans.push_back({first + from, to - from, lane.records});
      lane.records += to - from;
    };
    for (size_t i = 0; i < count; ++i) {
      const Record& record = first[i];
      const bool device = record.kind == RecordKind::kDevice;
      if (sane(record) && !device && record.end >= end) {
        end = record.end;
        continue;
      }
      close(i);
      from = i + 1;
      if (device && sane(record))
        lane.device.push_back(&record);
      else
        ++trace_->damaged;
    }
    close(count);
    trace_->records += count;
    if (trace_->records > kMostRecords)
      throw Error(MPI_ERR_FILE, strf("more than %llu records; choose fewer files",
                                     static_cast<unsigned long long>(kMostRecords)));
  }

  Trace* trace_;
  const MappedFile& file_;
  const std::string& name_;
  std::unordered_map<uint32_t, uint32_t> processes_;  // in this file to in the trace
  std::unordered_map<uint64_t, size_t> lanes_;
  std::vector<int64_t> ends_;  // of this file's lanes
  size_t bases_ = 0;           // lanes of earlier files
};

bool exists(const std::string& name) { return access(name.c_str(), F_OK) == 0; }

/// FILE.0, FILE.1, ... by number.
std::vector<std::string> numbered(const std::string& name) {
  const size_t slash = name.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : name.substr(0, slash + 1);
  const std::string stem = (slash == std::string::npos ? name : name.substr(slash + 1)) + ".";
  std::vector<std::pair<unsigned long, std::string>> found;
  if (DIR* const dir = opendir(folder.c_str())) {
    while (const dirent* const entry = readdir(dir)) {
      const std::string one = entry->d_name;
      if (one.size() <= stem.size() || one.size() > stem.size() + 9 ||
          one.compare(0, stem.size(), stem) != 0 ||
          one.find_first_not_of("0123456789", stem.size()) != std::string::npos)
        continue;
      const std::string number = one.substr(stem.size());
      found.emplace_back(std::stoul(number), name + "." + number);
    }
    closedir(dir);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [number, one] : found) names.push_back(std::move(one));
  return names;
}

std::vector<std::string> expanded(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    const std::vector<std::string> parts =
        exists(name) ? std::vector<std::string>{name} : numbered(name);
    if (parts.empty())
      throw Error(MPI_ERR_NO_SUCH_FILE, strf("neither %s nor %s.0 exists; mpirun --trace=%s writes "
                                             "the trace of a program",
                                             name.c_str(), name.c_str(), name.c_str()));
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

}  // namespace

MappedFile::MappedFile(const std::string& name) {
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (fd < 0 || fstat(fd, &facts) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    throw Error(MPI_ERR_FILE, strf("cannot open %s: %s", name.c_str(), std::strerror(error)));
  }
  if (!S_ISREG(facts.st_mode)) {
    close(fd);
    throw Error(MPI_ERR_FILE, strf("%s is no file", name.c_str()));
  }
  size_ = static_cast<size_t>(facts.st_size);
  void* const place =
      size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  const int error = errno;
  close(fd);
  if (place == MAP_FAILED)
    throw Error(MPI_ERR_FILE, strf("cannot map %s: %s", name.c_str(), std::strerror(error)));
  data_ = static_cast<const char*>(place);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

std::unique_ptr<Trace> open_trace(const std::vector<std::string>& names) {
  auto trace = std::make_unique<Trace>();
  trace->file_names = expanded(names);
  trace->names.labels.number("");
  trace->names.sites.number("");
  trace->names.details.number("");
  for (const std::string& name : trace->file_names) {
    trace->files.push_back(std::make_unique<MappedFile>(name));
    FileReader(trace.get(), *trace->files.back(), name).read();
  }
  resolve_members(trace.get());
  settle_rows(trace.get());
  for (Process& process : trace->processes) {
    settle_clock(&process);
    trace->has_clocks |= !process.clock_lines.empty();
    trace->worst_residual = std::max(trace->worst_residual, process.clock.residual);
    process.lost = std::max(process.lost, process.lost_here);
  }
  if (trace->damaged > 0)
    trace->remarks.push_back(
        strf("%llu damaged records are omitted", static_cast<unsigned long long>(trace->damaged)));
  settle_times(trace.get());
  return trace;
}

}  // namespace tern::trace_tool
