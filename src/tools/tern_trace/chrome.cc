// SPDX-License-Identifier: Apache-2.0
// Chrome trace events: a slice per call, a flow per message. Both ends of a flow lie inside slices.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/tern_info/json.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

constexpr uint32_t kStreamThread = 1u << 20;  // the row of a thread's device operations

class ChromeWriter {
 public:
  ChromeWriter(Analysis* analysis, const std::string& name)
      : a_(*analysis), trace_(*analysis->trace), name_(name), file_(std::fopen(name.c_str(), "w")) {
    if (file_ == nullptr) fail_to_write();
  }
  ChromeWriter(const ChromeWriter&) = delete;
  ChromeWriter& operator=(const ChromeWriter&) = delete;
  ~ChromeWriter() {
    if (file_ != nullptr) std::fclose(file_);
  }

  void write() {
    std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file_);
    for (uint32_t process = 0; process < trace_.processes.size(); ++process) names(process);
    for (const Lane& lane : trace_.lanes) {
      for (size_t i = 0; i < lane.records; ++i) slice(lane, lane.at(i));
      for (const Record* const record : lane.device)
        call(lane, *record, kStreamThread + lane.thread);
    }
    for (const Message& message : a_.matching.messages) flow(message);
    std::fputs("\n]}\n", file_);
    const bool written = std::ferror(file_) == 0;
    const bool closed = std::fclose(file_) == 0;
    file_ = nullptr;
    if (!written || !closed) fail_to_write();
  }

 private:
  [[noreturn]] void fail_to_write() const {
    throw Error(MPI_ERR_FILE, strf("cannot write %s: %s", name_.c_str(), std::strerror(errno)));
  }

  [[nodiscard]] double us(int64_t time) const {
    return static_cast<double>(time - trace_.start) * 1e-3;
  }
  void next() {
    std::fputs(first_ ? "\n" : ",\n", file_);
    first_ = false;
  }

  void names(uint32_t process) {
    const Process& one = trace_.processes[process];
    next();
    std::fprintf(
        file_, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":%s}}",
        one.row, info::json_text("rank " + trace_.rank_name(process) + " on " + one.host).c_str());
    next();
    std::fprintf(file_,
                 "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":"
                 "{\"sort_index\":%u}}",
                 one.row, one.row);
  }

  void slice(const Lane& lane, const Record& record) {
    const bool begins = record.kind == RecordKind::kRegionBegin;
    if (begins || record.kind == RecordKind::kRegionEnd) return region(lane, record, begins);
    if (is_call(record)) call(lane, record, lane.thread);
  }

  void region(const Lane& lane, const Record& record, bool begins) {
    const auto& labels = trace_.processes[lane.process].labels;
    const auto found = labels.find(record.site);
    const std::string label =
        found == labels.end() ? "region" : trace_.names.labels.text(found->second);
    next();
    std::fprintf(file_, "{\"ph\":\"%s\",\"name\":%s,\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
                 begins ? "B" : "E", info::json_text(label).c_str(),
                 trace_.processes[lane.process].row, lane.thread,
                 us(trace_.begin_of(lane, record)));
  }

  void call(const Lane& lane, const Record& record, uint32_t thread) {
    const Place& place = a_.places.at(a_.places.of(lane.process, record));
    const double begin = us(trace_.begin_of(lane, record));
    next();
    std::fprintf(file_,
                 "{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,"
                 "\"dur\":%.3f,\"args\":{\"site\":%s,\"bytes\":%lld,\"peer\":%d,\"tag\":%d}}",
                 info::json_text(trace_.functions[place.function].name).c_str(),
                 record.kind == RecordKind::kDevice ? "device" : "MPI",
                 trace_.processes[lane.process].row, thread, begin, length(record) * 1e-3,
                 info::json_text(trace_.site_name(place.site)).c_str(),
                 static_cast<long long>(record.bytes), record.peer, record.tag);
  }

  /// A slice has 1 ns at least, for the ends of flows.
  static double length(const Record& record) {
    return static_cast<double>(std::max<int64_t>(record.end - record.begin, 1));
  }

  void flow(const Message& message) {
    const End& send = a_.matching.sends[message.send];
    const End& receive = a_.matching.receives[message.receive];
    const Lane& source = trace_.lanes[send.lane];
    const Lane& destination = trace_.lanes[receive.lane];
    const int64_t begin = trace_.begin_of(source, *send.start);
    const int64_t last = trace_.begin_of(destination, *receive.wait) +
                         std::max<int64_t>(receive.wait->end - receive.wait->begin - 1, 0);
    ++flows_;
    next();
    std::fprintf(file_,
                 "{\"ph\":\"s\",\"name\":\"message\",\"cat\":\"message\",\"id\":%llu,\"pid\":%u,"
                 "\"tid\":%u,\"ts\":%.3f}",
                 static_cast<unsigned long long>(flows_), trace_.processes[source.process].row,
                 source.thread, us(begin));
    next();
    std::fprintf(file_,
                 "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":%llu,"
                 "\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
                 static_cast<unsigned long long>(flows_), trace_.processes[destination.process].row,
                 destination.thread, us(last));
  }

  Analysis& a_;
  Trace& trace_;
  const std::string& name_;
  FILE* file_;
  uint64_t flows_ = 0;
  bool first_ = true;
};

}  // namespace

void write_chrome(Analysis* analysis, const std::string& name) {
  ChromeWriter(analysis, name).write();
}

}  // namespace tern::trace_tool
