// SPDX-License-Identifier: Apache-2.0
// One pass over the records: totals by place and rank, sizes, overlap, ends of messages.
// Cost: two looks at each record.
#include <algorithm>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

constexpr uint32_t kLargestMatrix = 1024;

/// A started operation of a process.
struct Started {
  const Record* record = nullptr;
  uint32_t lane = 0, entry = ~0u;  // index in sends or collectives
  double inside = 0;               // ns in MPI before the start
};

class Collector {
 public:
  explicit Collector(Analysis* analysis) : a_(*analysis), trace_(*analysis->trace) {}

  void run() {
    a_.by_rank.resize(trace_.processes.size());
    a_.edges.resize(trace_.lanes.size());
    make_matrix();
    std::vector<std::vector<uint32_t>> lanes(trace_.processes.size());
    for (uint32_t lane = 0; lane < trace_.lanes.size(); ++lane)
      lanes[trace_.lanes[lane].process].push_back(lane);
    for (uint32_t process = 0; process < lanes.size(); ++process) {
      process_ = process;
      starts_.clear();
      started_.clear();
      for (const uint32_t lane : lanes[process]) find_starts(lane);
      for (const uint32_t lane : lanes[process]) take(lane);
    }
  }

 private:
  template <class Take>
  void each(const Lane& lane, Take take) {
    for (const Span& span : lane.spans)
      for (size_t i = 0; i < span.count; ++i) take(span.first[i]);
  }

  void find_starts(uint32_t lane) {
    double inside = 0;
    each(trace_.lanes[lane], [&](const Record& record) {
      const bool start = record.kind == RecordKind::kSendStart ||
                         record.kind == RecordKind::kReceiveStart ||
                         record.kind == RecordKind::kCollectiveStart;
      if (start && record.request != 0) {
        starts_.set(record.request, static_cast<uint32_t>(started_.size()));
        started_.push_back({&record, lane, ~0u, inside});
      }
      if (is_call(record)) inside += static_cast<double>(record.end - record.begin);
    });
  }

  void take(uint32_t number) {
    lane_ = number;
    inside_ = 0;
    wait_ = probe_ = nullptr;
    const Lane& lane = trace_.lanes[number];
    each(lane, [&](const Record& record) {
      if (is_call(record)) count(record);
      if (record.kind == RecordKind::kWait) wait_ = &record;
      end_of(record);
    });
    for (const Record* const record : lane.device) device(*record);
    RankTotals& rank = a_.by_rank[process_];
    rank.run += static_cast<double>(lane.last - lane.first);
    a_.run += static_cast<double>(lane.last - lane.first);
    rank.mpi += inside_;
    a_.mpi += inside_;
    rank.lanes += lane.records > 0;
  }

  void count(const Record& record) {
    const auto ns = static_cast<double>(record.end - record.begin);
    inside_ += ns;
    const uint32_t place = a_.places.of(process_, record);
    if (place >= a_.by_place.size()) a_.by_place.resize(a_.places.size());
    PlaceTotals& totals = a_.by_place[place];
    const auto calls = trace::kPolls & record.flags ? std::max<uint64_t>(record.number, 1) : 1;
    totals.calls += calls;
    totals.ns += ns;
    totals.longest = std::max(totals.longest, record.end - record.begin);
    if (totals.last_rank != process_) {
      totals.last_rank = process_;
      ++totals.ranks;
    }
    add_bytes(&totals.bytes, record);
    a_.by_rank[process_].calls += calls;
    a_.calls += calls;
    move(record, ns);
  }

  static void add_bytes(int64_t* sum, const Record& record) {
    constexpr int64_t kMost = int64_t{1} << 61;
    if (record.bytes > 0) *sum = std::min(*sum + record.bytes, kMost);
  }

  void move(const Record& record, double ns) {
    const bool file = record.kind == RecordKind::kFile;
    if (!file && record.kind != RecordKind::kOneSided && record.kind != RecordKind::kEpoch) return;
    Moved& moved = (file ? a_.files : a_.windows)[a_.places.function_of(process_, record.function)];
    ++moved.calls;
    moved.ns += ns;
    moved.bytes += static_cast<double>(std::max<int64_t>(record.bytes, 0));
    add_bytes(file ? &a_.by_rank[process_].file_bytes : &a_.by_rank[process_].put, record);
  }

  void end_of(const Record& record) {
    switch (record.kind) {
      case RecordKind::kSend:
      case RecordKind::kSendStart:
        return send(record);
      case RecordKind::kReceive:
        return receive(record, record, record);
      case RecordKind::kReceiveStart:  // without a request: complete on return
        if (record.request == 0 && record.number != 0) receive(record, record, record);
        return;
      case RecordKind::kReceiveDone:
        return receive_done(record);
      case RecordKind::kSendDone:
        return done(record, &a_.matching.sends);
      case RecordKind::kCollective:
      case RecordKind::kCollectiveStart:
        return collective(record);
      case RecordKind::kCollectiveDone:
        return done(record, &a_.matching.collectives);
      case RecordKind::kProbe:
        probe_ = &record;
        return;
      case RecordKind::kFile:  // numbered: a collective call
        if (record.request == 0 && record.number != 0) file(record);
        return;
      default:
        return;
    }
  }

  void send(const Record& record) {
    size_of(&a_.messages, record.bytes);
    add_bytes(&a_.by_rank[process_].sent, record);
    const uint32_t peer = a_.places.peer_of(process_, record);
    if (peer != Trace::kUnknown) to_matrix(peer, record.bytes);
    const bool blocking = record.kind == RecordKind::kSend;
    if (!blocking) remember(record, a_.matching.sends.size(), peer != Trace::kUnknown);
    if (peer == Trace::kUnknown || failed(record)) return;
    a_.matching.sends.push_back({record.number, &record, blocking ? &record : nullptr, lane_,
                                 channel(record, process_, peer)});
  }

  void receive_done(const Record& record) {
    const Started* const started = finish(record);
    if (wait_ != nullptr) receive(started == nullptr ? *wait_ : *started->record, *wait_, record);
  }

  /// `status` has source, tag and number.
  void receive(const Record& start, const Record& wait, const Record& status) {
    if ((status.flags & trace::kCancelled) != 0) return;
    add_bytes(&a_.by_rank[process_].received, status);
    const uint32_t peer = a_.places.peer_of(process_, status);
    if (peer == Trace::kUnknown || failed(status)) return;
    const Record* waiting = &wait;
    if (probe_ != nullptr && &start == &wait && probe_->peer == status.peer &&
        probe_->tag == status.tag && probe_->comm == status.comm &&
        probe_->end - probe_->begin > wait.end - wait.begin)
      waiting = probe_;
    probe_ = nullptr;
    a_.matching.receives.push_back(
        {status.number, &start, waiting, lane_, channel(status, peer, process_)});
  }

  void collective(const Record& record) {
    size_of(&a_.collectives, record.bytes);
    const bool blocking = record.kind == RecordKind::kCollective;
    const Comm* const comm = a_.places.comm_of(process_, record);
    const bool matched = comm != nullptr && !failed(record);
    if (!blocking) remember(record, a_.matching.collectives.size(), matched);
    if (!matched) return;
    a_.matching.collectives.push_back(
        {record.number, &record, blocking ? &record : nullptr, lane_, comm->key});
  }

  void file(const Record& record) {
    const Comm* const comm = a_.places.comm_of(process_, record);
    if (comm != nullptr && !failed(record))
      a_.matching.files.push_back({record.number, &record, &record, lane_, comm->key});
  }

  void device(const Record& record) {
    const uint32_t found = starts_.find(record.request);
    if (found == FlatMap::kNone) return;
    const Record& start = *started_[found].record;
    const Comm* const comm = a_.places.comm_of(process_, start);
    if (start.kind == RecordKind::kCollectiveStart && comm != nullptr && start.number != 0)
      a_.matching.device.push_back({start.number, &start, &record, lane_, comm->key});
  }

  static bool failed(const Record& record) noexcept {
    return record.number == 0 || (record.flags & (trace::kFailed | trace::kCancelled)) != 0;
  }

  void remember(const Record& record, size_t entry, bool listed) {
    const uint32_t found = record.request == 0 ? FlatMap::kNone : starts_.find(record.request);
    if (found != FlatMap::kNone && listed && !failed(record))
      started_[found].entry = static_cast<uint32_t>(entry);
  }

  void done(const Record& record, std::vector<End>* ends) {
    const Started* const started = finish(record);
    if (started != nullptr && started->entry < ends->size()) (*ends)[started->entry].wait = wait_;
  }

  const Started* finish(const Record& record) {
    const uint32_t found = record.request == 0 ? FlatMap::kNone : starts_.find(record.request);
    if (found == FlatMap::kNone || wait_ == nullptr) return nullptr;
    const Started& started = started_[found];
    if (started.lane == lane_ && wait_->end >= started.record->begin) {
      Overlap& overlap = a_.overlap[a_.places.of(process_, *started.record)];
      const auto flight = static_cast<double>(wait_->end - started.record->begin);
      ++overlap.operations;
      overlap.flight += flight;
      overlap.inside += std::clamp(inside_ - started.inside, 0.0, flight);
    }
    return &started;
  }

  uint32_t channel(const Record& record, uint32_t source, uint32_t destination) {
    const Comm* const comm = a_.places.comm_of(process_, record);
    const uint64_t pair = uint64_t{source} << 32 | destination;
    const uint64_t kind = uint64_t{comm->key} << 32 | static_cast<uint32_t>(record.tag);
    if (pair == last_pair_ && kind == last_kind_) return last_channel_;
    last_pair_ = pair;
    last_kind_ = kind;
    const uint32_t a = pairs_.insert(pair, static_cast<uint32_t>(pairs_.size()));
    const uint32_t b = kinds_.insert(kind, static_cast<uint32_t>(kinds_.size()));
    const auto fresh = static_cast<uint32_t>(a_.matching.channels.size());
    last_channel_ = channels_.insert(uint64_t{a} << 32 | b, fresh);
    if (last_channel_ == fresh)
      a_.matching.channels.push_back({comm->key, source, destination, record.tag});
    return last_channel_;
  }

  static void size_of(Sizes* sizes, int64_t bytes) {
    if (bytes < 0) return;
    const size_t bin =
        bytes == 0 ? 0
                   : 1 + static_cast<size_t>(63 - __builtin_clzll(static_cast<uint64_t>(bytes)));
    ++sizes->count[bin];
    sizes->bytes[bin] += static_cast<double>(bytes);
  }

  void make_matrix() {
    const auto ranks = static_cast<uint32_t>(trace_.processes.size());
    Matrix& matrix = a_.matrix;
    while ((ranks + matrix.ranks_per_row - 1) / matrix.ranks_per_row > kLargestMatrix)
      matrix.ranks_per_row *= 2;
    matrix.side = (ranks + matrix.ranks_per_row - 1) / matrix.ranks_per_row;
    matrix.bytes.resize(size_t{matrix.side} * matrix.side);
    matrix.messages.resize(size_t{matrix.side} * matrix.side);
  }

  void to_matrix(uint32_t peer, int64_t bytes) {
    Matrix& matrix = a_.matrix;
    const uint32_t from = trace_.processes[process_].row / matrix.ranks_per_row;
    const uint32_t to = trace_.processes[peer].row / matrix.ranks_per_row;
    const size_t cell = size_t{from} * matrix.side + to;
    matrix.bytes[cell] += static_cast<double>(std::max<int64_t>(bytes, 0));
    matrix.messages[cell] += 1;
  }

  Analysis& a_;
  Trace& trace_;
  uint32_t process_ = 0, lane_ = 0;
  double inside_ = 0;  // ns of the lane in MPI
  const Record *wait_ = nullptr, *probe_ = nullptr;
  FlatMap starts_, pairs_, kinds_, channels_;
  std::vector<Started> started_;
  uint64_t last_pair_ = ~0ull, last_kind_ = ~0ull;
  uint32_t last_channel_ = 0;
};

}  // namespace

void collect(Analysis* analysis) { Collector(analysis).run(); }

}  // namespace tern::trace_tool
