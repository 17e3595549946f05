// SPDX-License-Identifier: Apache-2.0
// Wait states of messages, and the parts shared by all wait states.
#include <algorithm>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

constexpr size_t kLongestWalk = 4096;  // calls of the peer in one wait

constexpr WaitWords kWords[kWaits] = {
    {"late_sender", "late sender", "sent late",
     "send earlier, or receive later (MPI_Irecv first, MPI_Wait after other work)"},
    {"late_receiver", "late receiver", "received late",
     "post the receive earlier (MPI_Irecv), or send this size eagerly: TERN_EAGER_LIMIT"},
    {"collective", "wait at a collective", "came last",
     "divide the work evenly; mpirun --bind-to core if ranks share cores"},
    {"progress", "wait for progress", "was outside MPI",
     "TERN_PROGRESS=thread, or calls of MPI_Test during the computation"},
    {"early_finish", "early finish", "finished last", "divide the work evenly"},
    {"lock", "wait for a lock", "held the lock",
     "hold locks for a shorter time, or lock shared (MPI_LOCK_SHARED, MPI_Win_lock_all)"},
    {"fence", "wait at a fence or epoch", "came last",
     "divide the work evenly, or replace fences by locks and flushes"},
    {"device", "wait on a device stream", "came last on its stream",
     "enqueue less work before the call, or divide the work evenly"},
};

class MessageWaits {
 public:
  explicit MessageWaits(Analysis* analysis) : a_(*analysis), trace_(*analysis->trace) {}

  void look(const Message& message) {
    const End& send = a_.matching.sends[message.send];
    const End& receive = a_.matching.receives[message.receive];
    const Lane& source = trace_.lanes[send.lane];
    const Lane& destination = trace_.lanes[receive.lane];
    const int64_t sent = trace_.begin_of(source, *send.start);
    const int64_t posted = trace_.begin_of(destination, *receive.start);
    wait(receive, Wait::kLateSender, send.lane, sent, sent);
    const bool rendezvous = ((send.start->flags | receive.start->flags | receive.wait->flags) &
                             trace::kRendezvous) != 0;
    const int64_t ready = std::max(sent, posted);
    if (send.wait != nullptr && (rendezvous || single(send))) {
      wait(send, Wait::kLateReceiver, receive.lane, posted, posted);
      progress(send, receive, ready);
    }
    if (rendezvous || single(receive)) progress(receive, send, ready);
  }

 private:
  /// `end` waited until `release` at the other lane.
  void wait(const End& end, Wait kind, uint32_t cause, int64_t release, int64_t cause_time,
            int64_t from = INT64_MIN, int64_t waited = -1) {
    const Lane& lane = trace_.lanes[end.lane];
    Edge edge;
    edge.begin = trace_.begin_of(lane, *end.wait);
    edge.end = trace_.end_of(lane, *end.wait);
    edge.release = std::min(release, edge.end);
    edge.cause_time = std::min(cause_time, edge.end);
    const int64_t start = std::max(edge.begin, from);
    if (edge.release <= start || end.lane == cause) return;
    edge.waited = waited < 0 ? edge.release - start : waited;
    edge.cause = cause;
    edge.place = a_.places.of(lane.process, *end.wait);
    edge.wait = kind;
    add_edge(&a_, end.lane, edge);
  }

  /// A call with one message ends late only for this message, also without the flag of a
  /// rendezvous.
  bool single(const End& end) {
    const uint32_t process = trace_.lanes[end.lane].process;
    return trace_.functions[a_.places.function_of(process, end.wait->function)].single;
  }

  /// Both ends know of the message, but the other is outside MPI, and this end continues only
  /// after the other's return.
  void progress(const End& waiting, const End& other, int64_t ready) {
    const Lane& lane = trace_.lanes[waiting.lane];
    const Lane& busy = trace_.lanes[other.lane];
    const int64_t begin = trace_.begin_of(lane, *waiting.wait);
    const int64_t end = trace_.end_of(lane, *waiting.wait);
    const int64_t posted = trace_.end_of(busy, *other.start);
    const int64_t from = std::max({ready, begin, posted});
    if (from >= end || other.start == other.wait) return;
    const Outside outside = outside_of(trace_, busy, from, end);
    if (outside.ns > 0)
      wait(waiting, Wait::kProgress, other.lane, outside.last_end, outside.last_end, from,
           outside.ns);
  }

  Analysis& a_;
  Trace& trace_;
};

}  // namespace

const WaitWords& words_of(Wait wait) noexcept { return kWords[static_cast<size_t>(wait)]; }

size_t call_after(const Trace& trace, const Lane& lane, int64_t time) noexcept {
  size_t low = 0, high = lane.records;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (trace.end_of(lane, lane.at(middle)) <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Outside outside_of(const Trace& trace, const Lane& lane, int64_t from, int64_t to) {
  Outside outside;
  size_t i = call_after(trace, lane, from);
  int64_t free_from = from;
  for (size_t walked = 0; i < lane.records && walked < kLongestWalk; ++i, ++walked) {
    const Record& record = lane.at(i);
    if (!is_call(record)) continue;
    const int64_t begin = trace.begin_of(lane, record);
    if (begin > to) break;
    if (begin > free_from) {
      outside.ns += begin - free_from;
      outside.last_end = begin;
    }
    free_from = std::max(free_from, trace.end_of(lane, record));
  }
  return outside;
}

void add_edge(Analysis* analysis, uint32_t lane, const Edge& edge) {
  analysis->edges[lane].push_back(edge);
}

void find_message_waits(Analysis* analysis) {
  MessageWaits waits(analysis);
  for (const Message& message : analysis->matching.messages) waits.look(message);
}

/// Each wait of a call keeps the part after the waits that ended earlier.
void settle_edges(Analysis* analysis) {
  for (std::vector<Edge>& edges : analysis->edges) {
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.begin, a.end, a.release) < std::tie(b.begin, b.end, b.release);
    });
    const Edge* before = nullptr;
    for (Edge& edge : edges) {
      const bool same = before != nullptr && before->begin == edge.begin && before->end == edge.end;
      if (same) edge.waited = std::min(edge.waited, edge.release - before->release);
      before = &edge;
      if (edge.waited <= 0) continue;
      const auto ns = static_cast<double>(edge.waited);
      const auto lane = static_cast<size_t>(&edges - analysis->edges.data());
      analysis->waited_by_kind[static_cast<size_t>(edge.wait)] += ns;
      analysis->by_place[edge.place].waited += ns;
      analysis->by_rank[analysis->trace->lanes[lane].process].waited += ns;
    }
  }
}

void analyse(Analysis* analysis) {
  collect(analysis);
  match(analysis);
  find_message_waits(analysis);
  find_collective_waits(analysis);
  find_epoch_waits(analysis);
  find_last_waits(analysis);
  settle_edges(analysis);
  sum_findings(analysis);
  find_path(analysis);
}

}  // namespace tern::trace_tool
