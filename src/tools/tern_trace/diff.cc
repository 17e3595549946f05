// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: findings and call sites, by the difference in seconds.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

constexpr size_t kMostDiffRows = 20;
constexpr double kLeastDifference = 0.01;  // of the longer run's time of all lanes

struct Two {
  double before = 0, after = 0;
  [[nodiscard]] double difference() const noexcept { return after - before; }
};
using Rows = std::map<std::string, Two>;

void add_places(const Analysis& a, double Two::*side, Rows* rows) {
  for (uint32_t place = 0; place < a.by_place.size(); ++place)
    if (a.by_place[place].calls > 0) (*rows)[a.places.name(place)].*side += a.by_place[place].ns;
}

void add_findings(const Analysis& a, double Two::*side, Rows* rows) {
  for (const Finding& one : a.findings) {
    std::string name = finding_title(a, one) + ", " + a.places.name(one.place);
    (*rows)[name].*side += one.ns;
  }
}

std::string table(const Rows& rows, double whole, double least) {
  std::vector<std::pair<std::string, Two>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
    return std::abs(x.second.difference()) > std::abs(y.second.difference());
  });
  std::string text;
  size_t shown = 0;
  for (const auto& [name, two] : sorted) {
    if (std::abs(two.difference()) < least || ++shown > kMostDiffRows) break;
    text += strf("  %12s %12s  %+11.6f s %+6.1f %%  %s\n", seconds_text(two.before).c_str(),
                 seconds_text(two.after).c_str(), two.difference() * 1e-9,
                 whole > 0 ? 100 * two.difference() / whole : 0, name.c_str());
  }
  return text.empty() ? "  no difference above 1 % of the time\n" : text;
}

}  // namespace

std::string diff_report(const Analysis& before, const Analysis& after) {
  const double whole = std::max(before.run, after.run);
  const double runs[] = {before.trace->run_seconds() * 1e9, after.trace->run_seconds() * 1e9};
  std::string text = "                before        after     difference   share\n";
  text += strf("  %12s %12s  %+11.6f s %+6.1f %%  run\n", seconds_text(runs[0]).c_str(),
               seconds_text(runs[1]).c_str(), (runs[1] - runs[0]) * 1e-9,
               runs[0] > 0 ? 100 * (runs[1] - runs[0]) / runs[0] : 0);
  text +=
      strf("  %12s %12s  %+11.6f s %+6.1f %%  all ranks in MPI\n", seconds_text(before.mpi).c_str(),
           seconds_text(after.mpi).c_str(), (after.mpi - before.mpi) * 1e-9,
           whole > 0 ? 100 * (after.mpi - before.mpi) / whole : 0);
  Rows findings, places;
  add_findings(before, &Two::before, &findings);
  add_findings(after, &Two::after, &findings);
  add_places(before, &Two::before, &places);
  add_places(after, &Two::after, &places);
  text += "Findings (seconds of all ranks; share of their time)\n" + table(findings, whole, 0);
  if (findings.empty()) text += "  neither run has a finding\n";
  return text + "Call sites\n" + table(places, whole, kLeastDifference * whole);
}

}  // namespace tern::trace_tool
