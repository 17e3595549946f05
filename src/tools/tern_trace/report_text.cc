// SPDX-License-Identifier: Apache-2.0
// The report for a terminal.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

constexpr size_t kTextRows = 12, kMostRanks = 16, kMostFindings = 10;
constexpr uint32_t kMatrixRows = 8;

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string head(const Analysis& a) {
  const Trace& trace = *a.trace;
  const size_t hosts = hosts_of(trace).size();
  std::string text =
      strf("run       %.3f s, %zu rank%s on %zu host%s, %s calls; %.1f %% of the time in MPI\n",
           trace.run_seconds(), trace.processes.size(), trace.processes.size() == 1 ? "" : "s",
           hosts, hosts == 1 ? "" : "s", count_text(a.calls).c_str(), percent(a.mpi, a.run));
  if (!trace.processes.empty())
    text += "command   " + trace.processes[trace.by_row[0]].command + '\n';
  for (const Process& process : trace.processes)
    if (!process.end.empty() && process.end != "finalised")
      text += strf("end       rank %d: %s\n", process.rank, process.end.c_str());
  return text;
}

std::string ranks_text(const Trace& trace, const std::vector<Cause>& causes) {
  std::string text;
  for (size_t i = 0; i < causes.size() && i < 3; ++i)
    text += strf("%srank %s (%s, %s times)", i == 0 ? "" : ", ",
                 trace.rank_name(causes[i].process).c_str(), seconds_text(causes[i].ns).c_str(),
                 count_text(causes[i].times).c_str());
  return text;
}

std::string findings(const Analysis& a) {
  const Trace& trace = *a.trace;
  if (a.findings.empty())
    return "\nFindings: none. No rank waited at one place for 2 % of the run.\n";
  std::string text = "\nFindings\n";
  const size_t shown = std::min(a.findings.size(), kMostFindings);
  for (size_t i = 0; i < shown; ++i) {
    const Finding& one = a.findings[i];
    text += strf("%2zu. %s: %s in %s waits; rank %s waited %s, %.1f %% of the run\n", i + 1,
                 words_of(one.wait).name, seconds_text(one.ns).c_str(),
                 count_text(one.times).c_str(), trace.rank_name(one.worst.process).c_str(),
                 seconds_text(one.worst.ns).c_str(), 100 * one.share);
    text += strf("    where  %s\n", a.places.name(one.place).c_str());
    text +=
        strf("    cause  %s %s\n", ranks_text(trace, one.causes).c_str(), words_of(one.wait).cause);
    text += strf("    cure   %s\n", one.cure.c_str());
  }
  if (shown < a.findings.size())
    text += strf("    %zu smaller findings: --json lists all\n", a.findings.size() - shown);
  for (const SlowRank& slow : a.slow)
    text += strf("    rank %s on %s computes %s, the median rank %s: a slow core, or more work\n",
                 trace.rank_name(slow.process).c_str(), trace.processes[slow.process].host.c_str(),
                 seconds_text(slow.ns).c_str(), seconds_text(slow.median).c_str());
  return text;
}

std::string waits(const Analysis& a) {
  const double all = std::accumulate(a.waited_by_kind.begin(), a.waited_by_kind.end(), 0.0);
  std::string text = strf("\nWaits of all ranks: %s, %.1f %% of the time in MPI\n",
                          seconds_text(all).c_str(), percent(all, a.mpi));
  for (size_t i = 0; i < kWaits; ++i)
    if (a.waited_by_kind[i] > 0)
      text += strf("  %-26s %12s\n", words_of(static_cast<Wait>(i)).name,
                   seconds_text(a.waited_by_kind[i]).c_str());
  return text;
}

std::string ranks(const Analysis& a) {
  std::vector<uint32_t> rows = a.trace->by_row;
  std::string text =
      "\nRanks       computes       in MPI        waits   MPI      calls         sent     "
      "received  host\n";
  const bool some = rows.size() > kMostRanks;
  if (some) {
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t x, uint32_t y) {
      return a.by_rank[x].run - a.by_rank[x].mpi > a.by_rank[y].run - a.by_rank[y].mpi;
    });
    rows.erase(rows.begin() + kMostRanks / 2, rows.end() - kMostRanks / 2);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const RankTotals& rank = a.by_rank[rows[i]];
    if (some && i == kMostRanks / 2)
      text += strf("  ... %zu ranks between the most and the least loaded\n",
                   a.trace->processes.size() - kMostRanks);
    text += strf("  %-6s %12s %12s %12s %5.1f %10s %12s %12s  %s\n",
                 a.trace->rank_name(rows[i]).c_str(), seconds_text(rank.run - rank.mpi).c_str(),
                 seconds_text(rank.mpi).c_str(), seconds_text(rank.waited).c_str(),
                 percent(rank.mpi, rank.run), count_text(rank.calls).c_str(),
                 size_text(static_cast<double>(rank.sent)).c_str(),
                 size_text(static_cast<double>(rank.received)).c_str(),
                 a.trace->processes[rows[i]].host.c_str());
  }
  return text;
}

std::string sites(const Analysis& a) {
  std::string text =
      "\nCall sites          time        waits   MPI      calls         mean      longest        "
      "bytes\n";
  size_t shown = 0;
  for (const uint32_t place : places_by_time(a)) {
    const PlaceTotals& one = a.by_place[place];
    if (one.calls == 0 || ++shown > kTextRows) break;
    text += strf("  %s\n               %12s %12s %5.1f %10s %12s %12s %12s\n",
                 a.places.name(place).c_str(), seconds_text(one.ns).c_str(),
                 seconds_text(one.waited).c_str(), percent(one.ns, a.mpi),
                 count_text(one.calls).c_str(),
                 seconds_text(one.ns / static_cast<double>(one.calls)).c_str(),
                 seconds_text(static_cast<double>(one.longest)).c_str(),
                 size_text(static_cast<double>(one.bytes)).c_str());
  }
  return text;
}

template <class Map, class Name>
std::string longest_of(const Map& map, double whole, Name name) {
  std::vector<std::pair<double, typename Map::key_type>> rows;
  for (const auto& [key, ns] : map) rows.emplace_back(ns, key);
  std::sort(rows.rbegin(), rows.rend());
  std::string text;
  for (size_t i = 0; i < rows.size() && i < 5; ++i)
    text += strf("    %12s %5.1f %%  %s\n", seconds_text(rows[i].first).c_str(),
                 percent(rows[i].first, whole), name(rows[i].second).c_str());
  return text;
}

std::string path(const Analysis& a) {
  const Path& path = a.path;
  const double all = path.compute + path.mpi + path.transfer;
  if (all <= 0) return "";
  const auto rank = [&](uint32_t process) { return "rank " + a.trace->rank_name(process); };
  const auto place = [&](uint32_t number) { return a.places.name(number); };
  std::string text =
      strf("\nCritical path: %s\n  computation %s, %.1f %%\n", seconds_text(all).c_str(),
           seconds_text(path.compute).c_str(), percent(path.compute, all));
  text += longest_of(path.compute_by_rank, all, rank);
  text += strf("  transfer %s, %.1f %%\n", seconds_text(path.transfer).c_str(),
               percent(path.transfer, all));
  text += longest_of(path.transfer_by_place, all, place);
  text += strf("  MPI %s, %.1f %%\n", seconds_text(path.mpi).c_str(), percent(path.mpi, all));
  return text + longest_of(path.mpi_by_rank, all, [&](const auto& key) {
           return rank(key.first) + " in " + place(key.second);
         });
}

std::string overlap(const Analysis& a) {
  std::vector<std::pair<double, uint32_t>> rows;
  for (const auto& [place, one] : a.overlap) rows.emplace_back(one.flight, place);
  if (rows.empty()) return "";
  std::sort(rows.rbegin(), rows.rend());
  std::string text = "\nOverlap of nonblocking operations with computation\n";
  for (size_t i = 0; i < rows.size() && i < kTextRows; ++i) {
    const Overlap& one = a.overlap.at(rows[i].second);
    text += strf("  %5.1f %% of %12s in flight, %s operations: %s\n",
                 percent(one.flight - one.inside, one.flight), seconds_text(one.flight).c_str(),
                 count_text(one.operations).c_str(), a.places.name(rows[i].second).c_str());
  }
  return text;
}

std::string sizes(const char* title, const Sizes& sizes) {
  const uint64_t most = *std::max_element(sizes.count.begin(), sizes.count.end());
  if (most == 0) return "";
  std::string text = strf("\n%s by size\n", title);
  for (size_t bin = 0; bin < sizes.count.size(); ++bin) {
    if (sizes.count[bin] == 0) continue;
    const auto width = static_cast<size_t>(
        std::ceil(40 * static_cast<double>(sizes.count[bin]) / static_cast<double>(most)));
    text += strf("  %10s to %-10s %12s %12s  %s\n",
                 size_text(static_cast<double>(least_size(bin))).c_str(),
                 size_text(static_cast<double>(least_size(bin + 1)) - 1).c_str(),
                 count_text(sizes.count[bin]).c_str(), size_text(sizes.bytes[bin]).c_str(),
                 std::string(width, '#').c_str());
  }
  return text;
}

std::string matrix(const Analysis& a) {
  const Matrix& all = a.matrix;
  if (std::none_of(all.messages.begin(), all.messages.end(), [](double n) { return n > 0; }))
    return "";
  const uint32_t merged = (all.side + kMatrixRows - 1) / kMatrixRows;
  const uint32_t side = (all.side + merged - 1) / merged;
  const uint32_t ranks = merged * all.ranks_per_row;
  std::vector<double> bytes(size_t{side} * side);
  for (uint32_t row = 0; row < all.side; ++row)
    for (uint32_t column = 0; column < all.side; ++column)
      bytes[size_t{row / merged} * side + column / merged] +=
          all.bytes[size_t{row} * all.side + column];
  std::string text = "\nBytes from (row) to (column)" +
                     (ranks == 1 ? std::string() : strf(", %u ranks in a row", ranks)) +
                     "\n        ";
  for (uint32_t column = 0; column < side; ++column) text += strf(" %9u", column * ranks);
  for (uint32_t row = 0; row < side; ++row) {
    text += strf("\n  %6u", row * ranks);
    for (uint32_t column = 0; column < side; ++column) {
      const double cell = bytes[size_t{row} * side + column];
      text += strf(" %9s", cell > 0 ? size_text(cell).c_str() : ".");
    }
  }
  return text + '\n';
}

std::string moved(const Analysis& a, const char* title, const std::map<uint32_t, Moved>& rows) {
  if (rows.empty()) return "";
  std::string text = strf("\n%s\n", title);
  for (const auto& [function, one] : rows)
    text += strf("  %-28s %10s calls %12s %12s\n", a.trace->functions[function].name.c_str(),
                 count_text(one.calls).c_str(), seconds_text(one.ns).c_str(),
                 size_text(one.bytes).c_str());
  return text;
}

std::string notes(const Analysis& a) {
  std::string text;
  if (hosts_of(*a.trace).size() > 1)
    text += a.trace->has_clocks
                ? strf("\nClocks of hosts agree within %s.\n",
                       seconds_text(static_cast<double>(a.trace->worst_residual)).c_str())
                : "\nClocks of hosts are not compared: times between hosts may be wrong.\n";
  for (const std::string& one : omissions(a))
    text += (text.empty() || text.back() != '\n' ? "\n" : "") + std::string("Note: ") + one + ".\n";
  return text;
}

}  // namespace

std::string seconds_text(double ns) {
  const double size = std::abs(ns);
  if (size >= 1e9) return strf("%.3f s", ns * 1e-9);
  if (size >= 1e6) return strf("%.3f ms", ns * 1e-6);
  return strf("%.3f us", ns * 1e-3);
}

std::string count_text(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; text.insert(at, ",")) at -= 3;
  return text;
}

std::string size_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? strf("%.0f B", bytes) : strf("%.1f %s", bytes, units[unit]);
}

std::string finding_title(const Analysis& analysis, const Finding& finding) {
  std::string text = words_of(finding.wait).name;
  if (!finding.causes.empty())
    text += strf(": rank %s %s", analysis.trace->rank_name(finding.causes[0].process).c_str(),
                 words_of(finding.wait).cause);
  return text;
}

std::vector<uint32_t> places_by_time(const Analysis& analysis) {
  std::vector<uint32_t> order(analysis.by_place.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    return analysis.by_place[x].ns > analysis.by_place[y].ns;
  });
  return order;
}

std::vector<std::string> hosts_of(const Trace& trace) {
  std::set<std::string> hosts;
  for (const Process& process : trace.processes) hosts.insert(process.host);
  return {hosts.begin(), hosts.end()};
}

std::vector<std::string> omissions(const Analysis& analysis) {
  const Trace& trace = *analysis.trace;
  std::vector<std::string> all = trace.remarks;
  uint64_t lost = 0, lost_lines = 0;
  for (const Process& process : trace.processes) {
    lost += process.lost;
    lost_lines += process.lost_lines;
  }
  if (lost_lines > 0)
    all.push_back(
        strf("%s communicators or call sites have no name, as the memory for names was full",
             count_text(lost_lines).c_str()));
  if (lost > 0)
    all.push_back(
        strf("%s records were lost, as the trace's buffers were full; a larger "
             "--trace-buffer keeps them",
             count_text(lost).c_str()));
  const Matching& matching = analysis.matching;
  if (matching.lonely_sends + matching.lonely_receives > 0)
    all.push_back(strf("%s sends and %s receives have no partner in this trace",
                       count_text(matching.lonely_sends).c_str(),
                       count_text(matching.lonely_receives).c_str()));
  return all;
}

std::string text_report(const Analysis& analysis) {
  return head(analysis) + findings(analysis) + waits(analysis) + ranks(analysis) + sites(analysis) +
         path(analysis) + overlap(analysis) + sizes("Messages", analysis.messages) +
         sizes("Collectives", analysis.collectives) + matrix(analysis) +
         moved(analysis, "Files", analysis.files) + moved(analysis, "Windows", analysis.windows) +
         notes(analysis);
}

}  // namespace tern::trace_tool
