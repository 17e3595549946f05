// SPDX-License-Identifier: Apache-2.0
// Waits summed to findings, and the thresholds.
// Why thresholds: every run waits a little; a finding is worth a person's time.
#include <algorithm>

#include "base/error.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

constexpr int64_t kShortestWait = 20'000;  // ns; shorter waits are latency
constexpr double kLeastShare = 0.02;       // of a rank's run
constexpr double kLeastNs = 5e6;           // of a rank
constexpr double kSlowFactor = 1.1;        // of the median time outside MPI
constexpr size_t kMostCauses = 16;

struct Sum {
  double ns = 0;
  uint64_t times = 0;
};

/// Sums by (kind and place, process); ordered, so that a kind's rows are adjacent.
class Sums {
 public:
  void add(uint64_t group, uint32_t process, double ns) {
    const uint32_t g = groups_.insert(group, static_cast<uint32_t>(groups_.size()));
    const uint64_t key = uint64_t{g} << 32 | process;
    const uint32_t at = places_.insert(key, static_cast<uint32_t>(rows_.size()));
    if (at == rows_.size()) rows_.push_back({group, process, {}});
    rows_[at].sum.ns += ns;
    ++rows_[at].sum.times;
  }
  [[nodiscard]] std::map<uint64_t, std::vector<Cause>> by_group() const {
    std::map<uint64_t, std::vector<Cause>> all;
    for (const Row& row : rows_) all[row.group].push_back({row.process, row.sum.ns, row.sum.times});
    for (auto& [group, causes] : all)
      std::sort(causes.begin(), causes.end(),
                [](const Cause& a, const Cause& b) { return a.ns > b.ns; });
    return all;
  }

 private:
  struct Row {
    uint64_t group;
    uint32_t process;
    Sum sum;
  };
  FlatMap groups_, places_;
  std::vector<Row> rows_;
};

double run_ns(const Analysis& analysis) {
  return static_cast<double>(analysis.trace->end - analysis.trace->start);
}

void find_slow_ranks(Analysis* analysis) {
  std::vector<double> outside;
  for (const RankTotals& rank : analysis->by_rank)
    if (rank.lanes > 0) outside.push_back(rank.run - rank.mpi);
  if (outside.size() < 3) return;
  std::vector<double> sorted = outside;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(sorted.size() / 2),
                   sorted.end());
  const double median = sorted[sorted.size() / 2];
  for (uint32_t p = 0; p < analysis->by_rank.size(); ++p) {
    const RankTotals& rank = analysis->by_rank[p];
    const double own = rank.run - rank.mpi;
    const double more = own - median;
    const bool caused = std::any_of(
        analysis->findings.begin(), analysis->findings.end(), [&](const Finding& finding) {
          return !finding.causes.empty() && finding.causes[0].process == p;
        });
    if (rank.lanes == 1 && caused && own > kSlowFactor * median && more >= kLeastNs &&
        more >= kLeastShare * run_ns(*analysis))
      analysis->slow.push_back({p, own, median});
  }
  std::sort(analysis->slow.begin(), analysis->slow.end(),
            [](const SlowRank& a, const SlowRank& b) { return a.ns > b.ns; });
}

std::string cure_of(const Analysis& analysis, const Finding& finding) {
  std::string cure = words_of(finding.wait).cure;
  if (finding.wait == Wait::kCollective && !finding.causes.empty() &&
      2 * finding.causes[0].times < finding.times && finding.causes.size() > 2)
    cure += "; the last rank changes: other programs or the system may disturb";
  const PlaceTotals& totals = analysis.by_place[finding.place];
  if (finding.wait == Wait::kCollective && 2 * (totals.ns - totals.waited) > totals.waited)
    cure += strf("; %s here are no waits: another algorithm may be faster (tern_coll tune)",
                 seconds_text(totals.ns - totals.waited).c_str());
  if (finding.wait == Wait::kLateReceiver && totals.calls > 0 && totals.bytes > 0)
    cure +=
        "; mean size here: " + std::to_string(totals.bytes / static_cast<int64_t>(totals.calls)) +
        " bytes";
  return cure;
}

}  // namespace

void sum_findings(Analysis* analysis) {
  Sums waiting, causing;
  for (uint32_t number = 0; number < analysis->edges.size(); ++number) {
    const uint32_t process = analysis->trace->lanes[number].process;
    for (const Edge& edge : analysis->edges[number]) {
      if (edge.waited < kShortestWait) continue;
      const uint64_t group = uint64_t{static_cast<uint8_t>(edge.wait)} << 32 | edge.place;
      const auto ns = static_cast<double>(edge.waited);
      waiting.add(group, process, ns);
      causing.add(group, analysis->trace->lanes[edge.cause].process, ns);
    }
  }
  const auto causes = causing.by_group();
  for (const auto& [group, ranks] : waiting.by_group()) {
    Finding finding;
    finding.wait = static_cast<Wait>(group >> 32);
    finding.place = static_cast<uint32_t>(group);
    finding.worst = ranks[0];
    for (const Cause& rank : ranks) {
      finding.ns += rank.ns;
      finding.times += rank.times;
    }
    finding.causes = causes.at(group);
    if (finding.causes.size() > kMostCauses) finding.causes.resize(kMostCauses);
    const uint64_t lanes = analysis->by_rank[finding.worst.process].lanes;
    finding.share = finding.worst.ns / (run_ns(*analysis) * static_cast<double>(lanes));
    if (finding.worst.ns < kLeastNs || finding.share < kLeastShare) continue;
    finding.cure = cure_of(*analysis, finding);
    analysis->findings.push_back(std::move(finding));
  }
  std::sort(analysis->findings.begin(), analysis->findings.end(),
            [](const Finding& a, const Finding& b) { return a.ns > b.ns; });
  find_slow_ranks(analysis);
}

}  // namespace tern::trace_tool
