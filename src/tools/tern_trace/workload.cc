// SPDX-License-Identifier: Apache-2.0
// The list of collectives with sizes, communicators and gaps of computation: tern_trace(1).
#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/error.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

// The words of tern_coll; a longer word comes before its beginning.
const char* const kCollectives[] = {"neighbor_allgatherv",
                                    "neighbor_allgather",
                                    "neighbor_alltoallw",
                                    "neighbor_alltoallv",
                                    "neighbor_alltoall",
                                    "allgatherv",
                                    "allgather",
                                    "allreduce",
                                    "alltoallw",
                                    "alltoallv",
                                    "alltoall",
                                    "barrier",
                                    "bcast",
                                    "exscan",
                                    "gatherv",
                                    "gather",
                                    "reduce_scatter_block",
                                    "reduce_scatter",
                                    "reduce",
                                    "scan",
                                    "scatterv",
                                    "scatter"};

/// "allreduce" of MPI_Iallreduce_c; empty for other functions.
std::string collective_word(const std::string& function) {
  std::string lower;
  for (const char c : function) lower += static_cast<char>(std::tolower(c));
  const size_t underscore = lower.find('_');
  if (underscore == std::string::npos) return "";
  std::string rest = lower.substr(underscore + 1);
  for (int tries = 0; tries < 2 && !rest.empty(); ++tries, rest.erase(0, 1)) {
    for (const char* const word : kCollectives)
      if (rest.compare(0, std::strlen(word), word) == 0) return word;
    if (rest[0] != 'i') break;
  }
  return "";
}

/// One rank's part of a collective.
struct Part {
  uint32_t key = 0, function = 0, root = Trace::kUnknown;
  uint64_t number = 0;
  int64_t begin = 0, bytes = 0;
  double gap = 0;  // ns outside MPI since the rank's last collective
};

struct Line {
  int64_t begin = 0, bytes = 0;
  double gap = 0;
  uint32_t ranks = 0, key = 0, function = 0, root = Trace::kUnknown;
};

std::vector<Part> parts_of_lanes(Analysis* analysis) {
  const Trace& trace = *analysis->trace;
  std::vector<Part> parts;
  for (const Lane& lane : trace.lanes) {
    double gap = 0;
    int64_t last = lane.first;
    for (size_t i = 0; i < lane.records; ++i) {
      const Record& record = lane.at(i);
      if (!is_call(record)) continue;
      const int64_t begin = trace.begin_of(lane, record);
      gap += static_cast<double>(std::max<int64_t>(begin - last, 0));
      last = std::max(last, trace.end_of(lane, record));
      const Comm* const comm = analysis->places.comm_of(lane.process, record);
      if ((record.kind != RecordKind::kCollective && record.kind != RecordKind::kCollectiveStart) ||
          comm == nullptr || record.number == 0)
        continue;
      parts.push_back({comm->key, analysis->places.function_of(lane.process, record.function),
                       analysis->places.peer_of(lane.process, record), record.number, begin,
                       record.bytes, gap});
      gap = 0;
    }
  }
  return parts;
}

std::vector<Line> lines_of(std::vector<Part> parts) {
  const auto less = [](const Part& a, const Part& b) {
    return std::tie(a.key, a.number) < std::tie(b.key, b.number);
  };
  std::stable_sort(parts.begin(), parts.end(), less);
  std::vector<Line> lines;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (i == 0 || less(parts[i - 1], part))
      lines.push_back({part.begin, part.bytes, 0, 0, part.key, part.function, part.root});
    Line& line = lines.back();
    line.begin = std::min(line.begin, part.begin);
    line.bytes = std::max(line.bytes, part.bytes);
    line.gap += part.gap;
    ++line.ranks;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.begin < b.begin; });
  return lines;
}

}  // namespace

std::string workload(Analysis* analysis) {
  const Trace& trace = *analysis->trace;
  std::string text =
      "# tern_trace workload 1\n"
      "# collective  bytes  ranks  communicator  root (- none)  us of computation before, per "
      "rank\n";
  for (const Line& line : lines_of(parts_of_lanes(analysis))) {
    const std::string word = collective_word(trace.functions[line.function].name);
    if (word.empty()) continue;
    const bool blocks = word == "alltoall" || word == "scatter" || word == "reduce_scatter" ||
                        word == "reduce_scatter_block";  // of tern_coll, where bytes are a block's
    const int64_t bytes = std::max<int64_t>(line.bytes, 0) / (blocks ? line.ranks : 1);
    const Shape shape = trace.functions[line.function].shape;
    const bool rooted = shape == Shape::kFromRoot || shape == Shape::kToRoot;
    text += strf("%s %lld %u %u %s %.3f\n", word.c_str(), static_cast<long long>(bytes), line.ranks,
                 line.key,
                 rooted && line.root != Trace::kUnknown
                     ? std::to_string(trace.processes[line.root].rank).c_str()
                     : "-",
                 line.gap / line.ranks * 1e-3);
  }
  return text;
}

}  // namespace tern::trace_tool
