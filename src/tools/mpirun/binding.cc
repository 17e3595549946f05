// SPDX-License-Identifier: Apache-2.0
// Dividing the allowed cores among the ranks.
#include "tools/mpirun/binding.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

// The cores [first, last) as processors.
std::vector<int> cpus_of(const std::vector<topo::Core>& cores, std::size_t first,
                         std::size_t last) {
  std::vector<int> cpus;
  for (std::size_t i = first; i < last; ++i)
    cpus.insert(cpus.end(), cores[i].cpus.begin(), cores[i].cpus.end());
  return cpus;
}

std::vector<std::vector<int>> cpus_by_numa(const std::vector<topo::Core>& cores) {
  std::vector<std::vector<int>> nodes;
  for (std::size_t first = 0; first < cores.size();) {
    std::size_t last = first;
    while (last < cores.size() && cores[last].numa == cores[first].numa) ++last;
    nodes.push_back(cpus_of(cores, first, last));
    first = last;
  }
  return nodes;
}

}  // namespace

std::vector<std::vector<int>> bind_ranks(Bind bind, int ranks,
                                         const std::vector<topo::Core>& cores) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<int>> bound(n);
  if (bind == Bind::kNone || cores.empty()) return bound;
  if (bind == Bind::kShare && (n > cores.size() || n == 1)) return bound;
  const auto nodes = bind == Bind::kNuma ? cpus_by_numa(cores) : std::vector<std::vector<int>>{};
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (bind == Bind::kNuma) {
      bound[rank] = nodes[n <= nodes.size() ? rank : rank * nodes.size() / n];
    } else if (bind == Bind::kCore) {
      bound[rank] = cores[rank % cores.size()].cpus;
    } else {
      bound[rank] = cpus_of(cores, rank * cores.size() / n, (rank + 1) * cores.size() / n);
    }
  }
  return bound;
}

std::string binding_in_words(int rank, const std::vector<int>& cpus,
                             const std::vector<topo::Core>& cores) {
  if (cpus.empty()) return strf("rank %d: not bound", rank);
  std::set<int> nodes;
  for (const auto& core : cores)
    if (std::find(cpus.begin(), cpus.end(), core.cpus.front()) != cpus.end())
      nodes.insert(core.numa);
  return strf("rank %d: processors %s (NUMA node %s)", rank, topo::format_cpu_list(cpus).c_str(),
              topo::format_cpu_list({nodes.begin(), nodes.end()}).c_str());
}

}  // namespace tern::mpirun
