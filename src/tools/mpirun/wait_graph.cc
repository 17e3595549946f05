// SPDX-License-Identifier: Apache-2.0
// Computes a fixed point over the wait graph, then walks a cycle.
#include "tools/mpirun/wait_graph.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

using Flags = std::vector<bool>;

bool goes_on(const WaitReport& report, const Flags& going) {
  const auto goes = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return at >= going.size() || going[at];  // a rank of another job cannot be judged
  };
  if (report.ranks.empty()) return true;
  return report.any ? std::any_of(report.ranks.begin(), report.ranks.end(), goes)
                    : std::all_of(report.ranks.begin(), report.ranks.end(), goes);
}

// Starts from the ranks outside MPI and iterates until nothing changes.
Flags ranks_that_go_on(const std::vector<WaitNode>& nodes) {
  Flags going(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    going[i] = nodes[i].state == WaitNode::State::kRunning;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (going[i] || nodes[i].state != WaitNode::State::kWaiting) continue;
      const auto& reports = nodes[i].reports;
      going[i] = std::any_of(reports.begin(), reports.end(),
                             [&](const WaitReport& report) { return goes_on(report, going); });
      changed |= going[i];
    }
  }
  return going;
}

// Returns a waiting rank awaited in vain by `rank`; -1 if all awaited ranks have ended.
int next_stuck(int rank, const std::vector<WaitNode>& nodes, const Flags& going) {
  for (const WaitReport& report : nodes[static_cast<std::size_t>(rank)].reports)
    for (const int other : report.ranks) {
      const auto at = static_cast<std::size_t>(other);
      if (at < nodes.size() && !going[at] && nodes[at].state == WaitNode::State::kWaiting)
        return other;
    }
  return -1;
}

std::vector<int> find_cycle(const std::vector<int>& stuck, const std::vector<WaitNode>& nodes,
                            const Flags& going) {
  Flags dead_end(nodes.size());
  for (const int start : stuck) {
    std::vector<int> path;
    for (int rank = start; rank >= 0 && !dead_end[static_cast<std::size_t>(rank)];
         rank = next_stuck(rank, nodes, going)) {
      const auto seen = std::find(path.begin(), path.end(), rank);
      if (seen != path.end()) return {seen, path.end()};
      path.push_back(rank);
    }
    for (const int rank : path) dead_end[static_cast<std::size_t>(rank)] = true;
  }
  return {};
}

}  // namespace

WaitVerdict judge_waiting(const std::vector<WaitNode>& nodes) {
  const Flags going = ranks_that_go_on(nodes);
  WaitVerdict verdict;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!going[i] && nodes[i].state == WaitNode::State::kWaiting)
      verdict.stuck.push_back(static_cast<int>(i));
  verdict.cycle = find_cycle(verdict.stuck, nodes, going);
  return verdict;
}

std::string in_words(const WaitVerdict& verdict, const std::vector<WaitNode>& nodes) {
  if (verdict.stuck.empty()) return {};
  if (verdict.cycle.size() == 1)
    return strf("Deadlock: rank %d waits for itself.", verdict.cycle[0]);
  std::string text = "Deadlock: ";
  for (std::size_t i = 0; i < verdict.cycle.size(); ++i)
    text += strf("%s%d waits for %d", i == 0 ? "rank " : ", ", verdict.cycle[i],
                 verdict.cycle[(i + 1) % verdict.cycle.size()]);
  if (!verdict.cycle.empty()) return text + ".";
  const auto is_ended = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return at < nodes.size() && nodes[at].state == WaitNode::State::kEnded;
  };
  for (const int rank : verdict.stuck)
    for (const WaitReport& report : nodes[static_cast<std::size_t>(rank)].reports)
      for (const int other : report.ranks)
        if (is_ended(other))
          return strf("Rank %d waits for rank %d, which has ended.", rank, other);
  return {};
}

}  // namespace tern::mpirun
