// SPDX-License-Identifier: Apache-2.0
// Maps ranks to parts of the machine, numbers the ranks, and binds each to processors of its part.
#include "tools/mpirun/binding.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

using Cores = std::vector<topo::Core>;

Cpus cpus_of(const Cores& cores, std::size_t first, std::size_t last) {
  Cpus cpus;
  for (std::size_t i = first; i < last; ++i)
    cpus.insert(cpus.end(), cores[i].cpus.begin(), cores[i].cpus.end());
  return cpus;
}

Cpus all_cpus(const Cores& cores) { return cpus_of(cores, 0, cores.size()); }

int key_of(Unit unit, const topo::Core& core) {
  switch (unit) {
    case Unit::kMachine:
      return 0;
    case Unit::kPackage:
      return core.package;
    case Unit::kNuma:
      return core.numa;
    case Unit::kL3:
      return core.l3;
    case Unit::kCore:
    case Unit::kThread:
      break;
  }
  return core.cpus.front();
}

std::vector<std::size_t> number_round(Unit unit, const std::vector<std::size_t>& mapped,
                                      const std::vector<Cores>& parts) {
  std::map<int, std::vector<std::size_t>> groups;
  for (const std::size_t part : mapped) groups[key_of(unit, parts[part].front())].push_back(part);
  std::vector<std::size_t> numbered;
  for (std::size_t turn = 0; numbered.size() < mapped.size(); ++turn)
    for (const auto& [key, group] : groups)
      if (turn < group.size()) numbered.push_back(group[turn]);
  return numbered;
}

std::vector<std::size_t> map_ranks(const Placing& placing, std::size_t ranks,
                                   const std::vector<Cores>& parts) {
  const auto each = static_cast<std::size_t>(placing.per_unit);
  if (each > 0 && ranks > each * parts.size())
    throw Error(MPI_ERR_ARG,
                strf("--map-by ppr:%zu: %zu ranks do not fit; there is room for %zu on %zu part%s",
                     each, ranks, each * parts.size(), parts.size(), parts.size() == 1 ? "" : "s"));
  std::vector<std::size_t> mapped(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    mapped[rank] = each > 0 ? rank / each : rank % parts.size();
  if (!placing.rank_given) return mapped;
  std::stable_sort(mapped.begin(), mapped.end());
  return placing.rank == Unit::kMachine ? mapped : number_round(placing.rank, mapped, parts);
}

Cpus cores_each(const Placing& placing, const Cores& part, std::size_t index) {
  const auto each = static_cast<std::size_t>(placing.cores_each);
  if ((index + 1) * each > part.size())
    throw Error(
        MPI_ERR_ARG,
        strf("--map-by PE=%zu: %zu rank%s of %zu cores each do not fit the %zu allowed core%s "
             "there",
             each, index + 1, index == 0 ? "" : "s", each, part.size(),
             part.size() == 1 ? "" : "s"));
  return cpus_of(part, index * each, (index + 1) * each);
}

Cpus cpus_for(const Placing& placing, const Cores& part, std::size_t index, std::size_t count,
              const Cores& machine) {
  if (placing.cores_each > 0) return cores_each(placing, part, index);
  if (placing.bind == Bind::kShare) {
    if (count > part.size()) return {};
    return cpus_of(part, index * part.size() / count, (index + 1) * part.size() / count);
  }
  if (placing.bind_unit == Unit::kThread) {
    const Cpus cpus = all_cpus(part);
    return {cpus[index % cpus.size()]};
  }
  if (placing.bind_unit == Unit::kCore) return part[index % part.size()].cpus;
  const topo::Core& core = part[index * part.size() / count];
  for (const Cores& around : parts_of(placing.bind_unit, machine))
    if (key_of(placing.bind_unit, around.front()) == key_of(placing.bind_unit, core))
      return all_cpus(around);
  return {};
}

}  // namespace

std::vector<Cores> parts_of(Unit unit, const Cores& cores) {
  std::vector<Cores> parts;
  std::map<int, std::size_t> known;
  for (const topo::Core& core : cores) {
    if (unit == Unit::kThread) {
      for (const int cpu : core.cpus) parts.push_back({{{cpu}, core.numa, core.package, core.l3}});
      continue;
    }
    const auto [at, fresh] = known.emplace(key_of(unit, core), parts.size());
    if (fresh) parts.emplace_back();
    parts[at->second].push_back(core);
  }
  return parts;
}

std::vector<Cpus> bind_ranks(const Placing& placing, int ranks, const Cores& cores) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<Cpus> bound(n);
  if (!placing.may_oversubscribe && n > cores.size())
    throw Error(MPI_ERR_ARG,
                strf("%d ranks are more than the %zu cores allowed, and --nooversubscribe (or "
                     "--map-by ...:nooversubscribe) forbids sharing: use fewer ranks, or "
                     "--oversubscribe",
                     ranks, cores.size()));
  if (cores.empty()) return bound;
  const std::vector<Cores> parts = parts_of(placing.map, cores);
  const std::vector<std::size_t> where = map_ranks(placing, n, parts);
  const bool whole = placing.bind == Bind::kShare && placing.cores_each == 0 && n == 1 &&
                     placing.map == Unit::kMachine;
  if (placing.bind == Bind::kNone || whole) return bound;
  std::vector<std::size_t> count(parts.size()), next(parts.size());
  for (const std::size_t part : where) ++count[part];
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::size_t part = where[rank];
    bound[rank] = cpus_for(placing, parts[part], next[part]++, count[part], cores);
  }
  return bound;
}

std::string binding_in_words(int rank, const Cpus& cpus, const Cores& cores) {
  if (cpus.empty()) return strf("rank %d: not bound", rank);
  std::set<int> nodes;
  for (const auto& core : cores)
    if (std::any_of(core.cpus.begin(), core.cpus.end(), [&cpus](int cpu) {
          return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
        }))
      nodes.insert(core.numa);
  return strf("rank %d: processors %s (NUMA node %s)", rank, topo::format_cpu_list(cpus).c_str(),
              topo::format_cpu_list({nodes.begin(), nodes.end()}).c_str());
}

}  // namespace tern::mpirun
