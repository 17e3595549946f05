// SPDX-License-Identifier: Apache-2.0
// Results of one pass over a trace: totals, matched messages, wait states, the critical path.
// Lifetime: pointers into the Trace, which must live longer.
// See: src/tools/tern_trace/README.md.
#pragma once

#include <array>
#include <map>

#include "tools/tern_trace/places.hpp"

namespace tern::trace_tool {

/// An end of a message, or a rank's part of a collective.
struct End {
  uint64_t number = 0;
  const Record* start = nullptr;  // the post: the call itself if blocking
  const Record* wait = nullptr;   // the completing call: start if blocking, null if none
  uint32_t lane = 0, channel = 0;
};

/// Messages of one communicator, source, destination and tag.
struct Channel {
  uint32_t key = 0, source = 0, destination = 0;
  int32_t tag = 0;
};

struct Message {
  uint32_t send = 0, receive = 0;  // indices of Matching::sends and receives
};

struct Matching {
  std::vector<Channel> channels;
  std::vector<End> sends, receives, collectives;  // channel of a collective: its key
  std::vector<End> device;                        // collectives on streams
  std::vector<End> files;                         // collective calls of files
  std::vector<Message> messages;
  uint64_t lonely_sends = 0, lonely_receives = 0;
};

enum class Wait : uint8_t {
  kLateSender,
  kLateReceiver,
  kCollective,
  kProgress,
  kEarlyFinish,
  kLock,
  kFence,
  kDevice,
};
inline constexpr size_t kWaits = 8;

struct WaitWords {
  const char *id, *name, *cause, *cure;
};
[[nodiscard]] const WaitWords& words_of(Wait wait) noexcept;

/// A call with a wait for another lane.
struct Edge {
  int64_t begin = 0, end = 0;  // of the call
  int64_t release = 0;         // the end of the wait
  int64_t cause_time = 0;      // where the critical path continues, on lane `cause`
  int64_t waited = 0;          // ns
  uint32_t cause = 0;          // lane
  uint32_t place = 0;
  Wait wait = Wait::kLateSender;
};

struct Cause {
  uint32_t process = 0;
  double ns = 0;
  uint64_t times = 0;
};

/// Waits of a kind at a place.
struct Finding {
  Wait wait = Wait::kLateSender;
  uint32_t place = 0;
  double ns = 0;
  uint64_t times = 0;
  Cause worst;                // the rank with the longest waits
  std::vector<Cause> causes;  // the causing ranks, by seconds
  double share = 0;           // of the worst rank's run
  std::string cure;
};

/// A rank with more computation than others.
struct SlowRank {
  uint32_t process = 0;
  double ns = 0, median = 0;  // outside of MPI
};

struct PlaceTotals {
  uint64_t calls = 0;
  double ns = 0, waited = 0;
  int64_t longest = 0, bytes = 0;
  uint32_t ranks = 0, last_rank = ~0u;
};

struct RankTotals {
  double mpi = 0, waited = 0, run = 0;  // ns; of all threads
  uint64_t calls = 0, lanes = 0;
  int64_t sent = 0, received = 0, file_bytes = 0, put = 0;
};

/// Nonblocking operations started at one place.
struct Overlap {
  uint64_t operations = 0;
  double flight = 0, inside = 0;  // ns from start to completion; the part inside MPI
};

struct PathPart {
  enum class Kind : uint8_t { kCompute, kMpi, kTransfer };
  Kind kind = Kind::kCompute;
  uint32_t lane = 0, place = 0;
  int64_t begin = 0, end = 0;
};

struct Path {
  std::vector<PathPart> parts;  // from the start of the run
  double compute = 0, mpi = 0, transfer = 0;
  std::map<uint32_t, double> compute_by_rank;
  std::map<std::pair<uint32_t, uint32_t>, double> mpi_by_rank;  // process, place
  std::map<uint32_t, double> transfer_by_place;
};

struct Sizes {
  std::array<uint64_t, 64> count{};
  std::array<double, 64> bytes{};
};

/// Bytes and messages between groups of adjacent ranks.
struct Matrix {
  uint32_t side = 0, ranks_per_row = 1;
  std::vector<double> bytes, messages;
};

/// Bytes moved by files and windows, by function.
struct Moved {
  uint64_t calls = 0;
  double bytes = 0, ns = 0;
};

struct Analysis {
  explicit Analysis(Trace* all) : trace(all), places(all) {}

  Trace* trace;
  Places places;
  Matching matching;
  std::vector<PlaceTotals> by_place;
  std::vector<RankTotals> by_rank;
  std::map<uint32_t, Overlap> overlap;  // by place of the start
  std::map<uint32_t, Moved> files, windows;
  std::vector<std::vector<Edge>> edges;  // by lane, by time
  std::vector<Finding> findings;         // above the thresholds, largest first
  std::vector<SlowRank> slow;
  std::vector<double> waited_by_kind = std::vector<double>(kWaits);
  Path path;
  Sizes messages, collectives;
  Matrix matrix;
  double mpi = 0, run = 0;  // ns of all lanes
  uint64_t calls = 0;
};

/// Runs every step on the records of the trace.
void analyse(Analysis* analysis);

/// The steps, in order.
void collect(Analysis* analysis);  // totals, overlap, ends
void match(Analysis* analysis);    // messages
void find_message_waits(Analysis* analysis);
void find_collective_waits(Analysis* analysis);
void find_epoch_waits(Analysis* analysis);
void find_last_waits(Analysis* analysis);  // MPI_Finalize
void find_fence_waits(Analysis* analysis, std::vector<End>* fences);
void settle_edges(Analysis* analysis);  // overlapping waits of one call
void sum_findings(Analysis* analysis);
void find_path(Analysis* analysis);

/// The first call of the lane with end > `time`; lane.records if none. Parts are skipped by the
/// caller.
[[nodiscard]] size_t call_after(const Trace& trace, const Lane& lane, int64_t time) noexcept;

/// The lane's time outside of MPI within [from, to], in gaps that end by `to`.
struct Outside {
  int64_t ns = 0, last_end = 0;
};
[[nodiscard]] Outside outside_of(const Trace& trace, const Lane& lane, int64_t from, int64_t to);
void add_edge(Analysis* analysis, uint32_t lane, const Edge& edge);

}  // namespace tern::trace_tool
