// SPDX-License-Identifier: Apache-2.0
// The critical path: from the last end backwards. A wait leads to the lane that was waited for.
// Cost: each wait at most once, and each call on the path.
#include <algorithm>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

class PathFinder {
 public:
  explicit PathFinder(Analysis* analysis) : a_(*analysis), trace_(*analysis->trace) {}

  void run() {
    if (trace_.lanes.empty() || trace_.end <= trace_.start) return;
    for (const std::vector<Edge>& edges : a_.edges) left_.push_back(edges.size());
    uint32_t lane = 0;
    for (uint32_t i = 1; i < trace_.lanes.size(); ++i)
      if (trace_.lanes[i].records > 0 &&
          (trace_.lanes[lane].records == 0 || trace_.lanes[i].last > trace_.lanes[lane].last))
        lane = i;
    int64_t time = trace_.lanes[lane].last;
    while (const Edge* const edge = edge_before(lane, time)) {
      if (edge->end < time) local(lane, edge->end, time);
      add(PathPart::Kind::kTransfer, lane, edge->place, edge->release, std::min(edge->end, time));
      lane = edge->cause;
      time = std::min(edge->cause_time, edge->release);
    }
    local(lane, trace_.lanes[lane].first, time);
    std::reverse(a_.path.parts.begin(), a_.path.parts.end());
  }

 private:
  /// The last unused wait that ended by `time`.
  const Edge* edge_before(uint32_t lane, int64_t time) {
    size_t& left = left_[lane];
    const std::vector<Edge>& edges = a_.edges[lane];
    while (left > 0) {
      const Edge& edge = edges[--left];
      if (edge.release <= time && edge.waited > 0 && edge.wait != Wait::kDevice) return &edge;
    }
    return nullptr;
  }

  /// The lane's own calls and computation in [from, to].
  void local(uint32_t number, int64_t from, int64_t to) {
    const Lane& lane = trace_.lanes[number];
    const size_t first = call_after(trace_, lane, from);
    size_t i = std::min(call_after(trace_, lane, to) + 1, lane.records);
    int64_t time = to;
    while (i > first && time > from) {
      const Record& record = lane.at(--i);
      if (!is_call(record)) continue;
      const int64_t begin = std::max(trace_.begin_of(lane, record), from);
      const int64_t end = std::min(trace_.end_of(lane, record), time);
      if (begin >= time || end <= from) continue;
      add(PathPart::Kind::kCompute, number, 0, end, time);
      add(PathPart::Kind::kMpi, number, a_.places.of(lane.process, record), begin, end);
      time = begin;
    }
    add(PathPart::Kind::kCompute, number, 0, from, time);
  }

  void add(PathPart::Kind kind, uint32_t lane, uint32_t place, int64_t begin, int64_t end) {
    if (end <= begin) return;
    const auto ns = static_cast<double>(end - begin);
    const uint32_t process = trace_.lanes[lane].process;
    Path& path = a_.path;
    switch (kind) {
      case PathPart::Kind::kCompute:
        path.compute += ns;
        path.compute_by_rank[process] += ns;
        break;
      case PathPart::Kind::kMpi:
        path.mpi += ns;
        path.mpi_by_rank[{process, place}] += ns;
        break;
      case PathPart::Kind::kTransfer:
        path.transfer += ns;
        path.transfer_by_place[place] += ns;
        break;
    }
    path.parts.push_back({kind, lane, place, begin, end});
  }

  Analysis& a_;
  Trace& trace_;
  std::vector<size_t> left_;  // unused edges of each lane
};

}  // namespace

void find_path(Analysis* analysis) { PathFinder(analysis).run(); }

}  // namespace tern::trace_tool
