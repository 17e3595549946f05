// SPDX-License-Identifier: Apache-2.0
// Waits of windows: fences, locks held by another rank, posts and completions.
#include <algorithm>
#include <tuple>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

constexpr size_t kLongestLook = 256;

enum class Epoch : uint8_t { kOther, kFence, kLock, kUnlock, kPost, kStart, kComplete, kWaitAll };

Epoch epoch_of(const std::string& name) {
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (has("fence")) return Epoch::kFence;
  if (has("unlock")) return Epoch::kUnlock;
  if (has("lock") || has("flush")) return Epoch::kLock;
  if (has("post")) return Epoch::kPost;
  if (has("start")) return Epoch::kStart;
  if (has("complete")) return Epoch::kComplete;
  return has("wait") ? Epoch::kWaitAll : Epoch::kOther;
}

/// A call that may end waits of others.
struct Release {
  uint32_t key = 0, lane = 0, target = 0;
  Epoch epoch = Epoch::kOther;
  int64_t time = 0;
};

struct Waiting {
  const Record* record = nullptr;
  uint32_t key = 0, lane = 0, target = 0;
  Epoch epoch = Epoch::kOther;
};

class EpochWaits {
 public:
  explicit EpochWaits(Analysis* analysis) : a_(*analysis), trace_(*analysis->trace) {}

  void run() {
    for (uint32_t lane = 0; lane < trace_.lanes.size(); ++lane)
      for (const Span& span : trace_.lanes[lane].spans)
        for (size_t i = 0; i < span.count; ++i)
          if (span.first[i].kind == RecordKind::kEpoch) take(lane, span.first[i]);
    find_fence_waits(&a_, &fences_);
    std::sort(releases_.begin(), releases_.end(), [](const Release& a, const Release& b) {
      return std::tie(a.key, a.time) < std::tie(b.key, b.time);
    });
    for (const Waiting& waiting : waits_) look(waiting);
  }

 private:
  void take(uint32_t number, const Record& record) {
    const Lane& lane = trace_.lanes[number];
    const Comm* const comm = a_.places.comm_of(lane.process, record);
    if (comm == nullptr) return;
    const uint32_t function = a_.places.function_of(lane.process, record.function);
    const Epoch epoch = epoch_of(trace_.functions[function].name);
    const uint32_t target = a_.places.peer_of(lane.process, record);
    if (epoch == Epoch::kFence) {
      const uint32_t seen = counts_.find(uint64_t{comm->key} << 32 | number);
      const uint32_t next = seen == FlatMap::kNone ? 1 : seen + 1;
      counts_.set(uint64_t{comm->key} << 32 | number, next);
      fences_.push_back(
          {record.number == 0 ? next : record.number, &record, &record, number, comm->key});
    }
    if (epoch == Epoch::kUnlock || epoch == Epoch::kPost || epoch == Epoch::kComplete) {
      const bool at_end = epoch != Epoch::kPost;
      releases_.push_back({comm->key, number, target, epoch,
                           at_end ? trace_.end_of(lane, record) : trace_.begin_of(lane, record)});
    }
    if (epoch != Epoch::kOther && epoch != Epoch::kFence && epoch != Epoch::kPost)
      waits_.push_back({&record, comm->key, number, target, epoch});
  }

  static bool releases(const Release& release, const Waiting& waiting) noexcept {
    switch (waiting.epoch) {
      case Epoch::kLock:
      case Epoch::kUnlock:
        return release.epoch == Epoch::kUnlock &&
               (release.target == waiting.target || release.target == Trace::kUnknown ||
                waiting.target == Trace::kUnknown);
      case Epoch::kStart:
      case Epoch::kComplete:
        return release.epoch == Epoch::kPost;
      case Epoch::kWaitAll:
        return release.epoch == Epoch::kComplete;
      default:
        return false;
    }
  }

  /// The latest release during the call was its end.
  void look(const Waiting& waiting) {
    const Lane& lane = trace_.lanes[waiting.lane];
    const int64_t begin = trace_.begin_of(lane, *waiting.record);
    const int64_t end = trace_.end_of(lane, *waiting.record);
    auto after =
        std::upper_bound(releases_.begin(), releases_.end(), std::make_tuple(waiting.key, end),
                         [](const auto& at, const Release& release) {
                           return at < std::make_tuple(release.key, release.time);
                         });
    for (size_t looked = 0; after != releases_.begin() && looked < kLongestLook; ++looked) {
      const Release& release = *--after;
      if (release.key != waiting.key || release.time <= begin) return;
      if (release.lane == waiting.lane || !releases(release, waiting)) continue;
      const bool lock = release.epoch == Epoch::kUnlock;
      Edge edge{begin,
                end,
                release.time,
                release.time,
                release.time - begin,
                release.lane,
                a_.places.of(lane.process, *waiting.record),
                lock ? Wait::kLock : Wait::kFence};
      add_edge(&a_, waiting.lane, edge);
      return;
    }
  }

  Analysis& a_;
  Trace& trace_;
  std::vector<End> fences_;
  std::vector<Release> releases_;
  std::vector<Waiting> waits_;
  FlatMap counts_;
};

}  // namespace

void find_epoch_waits(Analysis* analysis) { EpochWaits(analysis).run(); }

}  // namespace tern::trace_tool
