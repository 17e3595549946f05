// SPDX-License-Identifier: Apache-2.0
// Waits for the last rank: at collectives, fences, on device streams, and in MPI_Finalize.
#include <algorithm>
#include <map>
#include <tuple>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

/// A rank's part of one collective, in the job's time.
struct Entry {
  int64_t begin = 0;
  const End* end = nullptr;
};

class CollectiveWaits {
 public:
  CollectiveWaits(Analysis* analysis, Wait kind)
      : a_(*analysis), trace_(*analysis->trace), kind_(kind) {}

  void look(std::vector<End>* ends) {
    const auto less = [](const End& a, const End& b) {
      return std::tie(a.channel, a.number) < std::tie(b.channel, b.number);
    };
    if (!std::is_sorted(ends->begin(), ends->end(), less))
      std::stable_sort(ends->begin(), ends->end(), less);
    for (size_t first = 0, last = 0; first < ends->size(); first = last) {
      group_.clear();
      for (; last < ends->size() && !less((*ends)[first], (*ends)[last]); ++last) {
        const End& end = (*ends)[last];
        const Record& entry = kind_ == Wait::kDevice ? *end.wait : *end.start;
        group_.push_back({trace_.begin_of(trace_.lanes[end.lane], entry), &end});
      }
      if (group_.size() > 1) group();
    }
  }

 private:
  void group() {
    const Record& any = *group_[0].end->start;
    const uint32_t process = trace_.lanes[group_[0].end->lane].process;
    const uint32_t function = a_.places.function_of(process, any.function);
    const bool between = (any.flags & trace::kStranger) != 0;
    if (between) drop_idle();
    if (group_.size() < 2) return;
    const Entry* const root = root_of();
    switch (trace_.functions[function].shape) {
      case Shape::kNone:
        return;
      case Shape::kFromRoot:
        if (root != nullptr)
          for (const Entry& entry : group_) wait(entry, *root);
        return;
      case Shape::kToRoot:
        if (root != nullptr) wait(*root, last());
        return;
      case Shape::kPrefix:
        return prefix();
      case Shape::kAll:
        if (between) return both_sides();
        for (const Entry& entry : group_) wait(entry, last());
    }
    if (kind_ == Wait::kCollective && any.kind == RecordKind::kCollectiveStart) progress();
  }

  /// Between two groups the root's neighbours have no part.
  void drop_idle() {
    std::erase_if(group_,
                  [](const Entry& entry) { return entry.end->start->peer == trace::kProcNull; });
  }

  /// Each group waits for the last rank of the other.
  void both_sides() {
    std::map<uint32_t, const Entry*> last_of;  // by list of members
    const auto side = [&](const Entry& entry) {
      const Comm* const comm =
          a_.places.comm_of(trace_.lanes[entry.end->lane].process, *entry.end->start);
      return comm == nullptr ? Trace::kUnknown : comm->members;
    };
    for (const Entry& entry : group_) {
      const Entry*& last = last_of[side(entry)];
      if (last == nullptr || entry.begin > last->begin) last = &entry;
    }
    for (const Entry& entry : group_)
      for (const auto& [other, last] : last_of)
        if (other != side(entry)) wait(entry, *last);
  }

  /// After the start of all ranks, the other ranks wait for the last computing rank.
  void progress() {
    const Entry* back = nullptr;
    int64_t returned = INT64_MIN;
    for (const Entry& entry : group_) {
      if (entry.end->wait == nullptr) continue;
      const int64_t begin = trace_.begin_of(trace_.lanes[entry.end->lane], *entry.end->wait);
      if (begin > returned) back = &entry;
      returned = std::max(returned, begin);
    }
    const int64_t started = last().begin;
    for (const Entry& entry : group_) {
      const End& end = *entry.end;
      if (end.wait == nullptr || &entry == back) continue;
      Edge edge = edge_of(end, back->end->lane, returned);
      const int64_t from = std::max(edge.begin, started);
      if (edge.end < returned || from >= returned) continue;
      const Outside outside = outside_of(trace_, trace_.lanes[back->end->lane], from, returned);
      edge.waited = outside.ns;
      edge.wait = Wait::kProgress;
      if (outside.ns > 0) add_edge(&a_, end.lane, edge);
    }
  }

  Edge edge_of(const End& end, uint32_t cause, int64_t release) {
    const Lane& lane = trace_.lanes[end.lane];
    Edge edge;
    edge.begin = trace_.begin_of(lane, *end.wait);
    edge.end = trace_.end_of(lane, *end.wait);
    edge.release = edge.cause_time = std::min(release, edge.end);
    edge.waited = edge.release - edge.begin;
    edge.cause = cause;
    edge.place = a_.places.of(lane.process, kind_ == Wait::kDevice ? *end.start : *end.wait);
    edge.wait = kind_;
    return edge;
  }

  const Entry* root_of() {
    uint32_t root = Trace::kUnknown;
    for (const Entry& entry : group_) {
      const Record& record = *entry.end->start;
      if (record.peer == trace::kRootHere) return &entry;
      if (root == Trace::kUnknown && record.peer >= 0)
        root = a_.places.peer_of(trace_.lanes[entry.end->lane].process, record);
    }
    for (const Entry& entry : group_)
      if (trace_.lanes[entry.end->lane].process == root) return &entry;
    return nullptr;
  }

  [[nodiscard]] const Entry& last() const {
    return *std::max_element(group_.begin(), group_.end(),
                             [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  }

  void prefix() {
    const auto row = [&](const Entry& entry) {
      return trace_.processes[trace_.lanes[entry.end->lane].process].row;
    };
    std::sort(group_.begin(), group_.end(),
              [&](const Entry& a, const Entry& b) { return row(a) < row(b); });
    const Entry* latest = &group_[0];
    for (const Entry& entry : group_) {
      if (entry.begin > latest->begin) latest = &entry;
      wait(entry, *latest);
    }
  }

  void wait(const Entry& entry, const Entry& cause) {
    const End& end = *entry.end;
    if (end.wait == nullptr || end.lane == cause.end->lane) return;
    const Edge edge = edge_of(end, cause.end->lane, cause.begin);
    if (edge.waited > 0) add_edge(&a_, end.lane, edge);
  }

  Analysis& a_;
  Trace& trace_;
  Wait kind_;
  std::vector<Entry> group_;
};

bool named(const Trace& trace, uint32_t function, const char* name) {
  return trace.functions[function].name == name;
}

/// MPI_Finalize of each lane, one group per world.
std::vector<End> finalize_calls(Analysis* analysis) {
  Trace& trace = *analysis->trace;
  std::vector<End> ends;
  for (uint32_t number = 0; number < trace.lanes.size(); ++number) {
    const Lane& lane = trace.lanes[number];
    for (size_t i = lane.records; i-- > 0 && i + 8 > lane.records;) {
      const Record& record = lane.at(i);
      if (record.kind != RecordKind::kCall ||
          !named(trace, analysis->places.function_of(lane.process, record.function),
                 "MPI_Finalize"))
        continue;
      const uint32_t world = trace.names.keys.number(trace.processes[lane.process].world);
      ends.push_back({1, &record, &record, number, world});
      break;
    }
  }
  return ends;
}

}  // namespace

void find_collective_waits(Analysis* analysis) {
  CollectiveWaits(analysis, Wait::kCollective).look(&analysis->matching.collectives);
  CollectiveWaits(analysis, Wait::kCollective).look(&analysis->matching.files);
  CollectiveWaits(analysis, Wait::kDevice).look(&analysis->matching.device);
}

void find_last_waits(Analysis* analysis) {
  std::vector<End> ends = finalize_calls(analysis);
  CollectiveWaits(analysis, Wait::kEarlyFinish).look(&ends);
}

void find_fence_waits(Analysis* analysis, std::vector<End>* fences) {
  CollectiveWaits(analysis, Wait::kFence).look(fences);
}

}  // namespace tern::trace_tool
