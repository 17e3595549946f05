// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/placement.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/elsewhere.hpp"
#include "tools/mpirun/hosts.hpp"

namespace tern::mpirun {
namespace {

using Cores = std::vector<topo::Core>;

bool needs_cores(const Options& options) {
  const Placing& placing = options.placing;
  return placing.bind != Bind::kNone || options.report_bindings || options.dry_run ||
         placing.per_unit > 0 || !placing.may_oversubscribe;
}

bool needs_hwloc(const Placing& placing) {
  const auto beyond = [](Unit unit) { return unit == Unit::kL3 || unit == Unit::kPackage; };
  return beyond(placing.map) || (placing.rank_given && beyond(placing.rank)) ||
         (placing.bind == Bind::kUnit && beyond(placing.bind_unit)) || topo::machine_is_made_up();
}

topo::Machine read_machine(const Options& options) {
  if (!needs_cores(options)) return {};
  if (needs_hwloc(options.placing)) return topo::machine_by_hwloc();
  return {topo::allowed_cores(), true};
}

int unsaid_ranks(const Options& options, const Cores& cores) {
  if (options.placing.per_unit > 0)
    return options.placing.per_unit * static_cast<int>(parts_of(options.placing.map, cores).size());
  if (options.per_node > 0) return options.per_node;
  if (const int slots = slots_of(options.hosts); slots > 0) return slots;
  const Allocation allocation = allocation_here();
  return allocation.in_step ? 1 : std::max(1, allocation.tasks);
}

// Whether ranks hold cores of their own. Ranks bound to a NUMA node or larger share cores.
bool takes_cores(const Placing& placing) {
  if (placing.take_held || placing.bind == Bind::kNone) return false;
  return placing.bind == Bind::kShare || placing.cores_each > 0 ||
         placing.bind_unit == Unit::kCore || placing.bind_unit == Unit::kThread;
}

std::string held_by_others(std::size_t held, std::size_t all, const char* then) {
  return strf("%zu of the %zu cores are held by another mpirun; %s", held, all, then);
}

void bind_to_free(Places& places, const Placing& placing, int ranks) {
  const Cores& all = places.machine.cores;
  const auto each = static_cast<std::size_t>(std::max(1, placing.cores_each));
  const bool share = placing.bind == Bind::kShare && placing.cores_each == 0;
  const Cores free = places.hold.take(all);
  const std::size_t others = all.size() - free.size();
  const std::size_t wanted = static_cast<std::size_t>(ranks) * each;
  if (others > 0 && free.size() < wanted && wanted <= all.size() && share) {
    places.remark = held_by_others(
        others, all.size(),
        "nothing is bound, and both jobs share cores (--bind-to share:overload-allowed binds "
        "ranks, --bind-to none silences this remark)");
    places.cpus.assign(static_cast<std::size_t>(ranks), {});
  } else if (others > 0 && ranks == 1 && share && !free.empty()) {
    places.remark = held_by_others(others, all.size(), "rank 0 gets the rest");
    for (const topo::Core& core : free)
      places.cpus[0].insert(places.cpus[0].end(), core.cpus.begin(), core.cpus.end());
    return places.hold.release();
  } else if (others > 0 && (free.size() < wanted || placing.per_unit > 0)) {
    places.remark = held_by_others(others, all.size(), "both jobs share some cores");
    places.cpus = bind_ranks(placing, ranks, all);
  } else {
    places.cpus = bind_ranks(placing, ranks, free);
  }
  Cpus ours;
  for (const Cpus& cpus : places.cpus) ours.insert(ours.end(), cpus.begin(), cpus.end());
  places.hold.keep(ours);
}

}  // namespace

void settle_ranks(Options& options, const Cores& cores) {
  const int unsaid = unsaid_ranks(options, cores);
  for (App& app : options.apps)
    if (app.ranks == 0) app.ranks = options.apps.size() == 1 ? unsaid : 1;
  const int ranks = options.ranks();
  if (ranks > kMostRanks)
    throw Error(MPI_ERR_ARG,
                strf("%d ranks are more than the limit of %d per machine", ranks, kMostRanks));
  if (options.input == Input::kRank && options.input_rank >= ranks)
    throw Error(MPI_ERR_ARG, strf("--stdin: \"%d\" is not a rank; this job has ranks 0..%d",
                                  options.input_rank, ranks - 1));
}

Places place_on(topo::Machine machine, Options& options, topo::CoreHold hold) {
  Places places{std::move(machine), {}, std::move(hold), {}};
  settle_ranks(options, places.machine.cores);
  const int ranks = options.ranks();
  places.cpus.resize(static_cast<std::size_t>(ranks));
  if (places.machine.cores.empty()) return places;
  if (places.machine.this_machine && takes_cores(options.placing))
    bind_to_free(places, options.placing, ranks);
  else
    places.cpus = bind_ranks(options.placing, ranks, places.machine.cores);
  if (!places.machine.this_machine)
    places.remark = "hwloc's variables describe another machine; nothing is bound";
  return places;
}

Places place_beside(const Places& parent, const Cpus& taken, int ranks, topo::CoreHold hold) {
  Places places{parent.machine, {}, std::move(hold), {}};
  const auto wanted = static_cast<std::size_t>(ranks);
  places.cpus.resize(wanted);
  if (!parent.machine.this_machine || parent.cpus.empty() || parent.cpus[0].empty()) return places;
  const auto has_one_of = [](const Cpus& cpus) {
    return [&cpus](const topo::Core& core) {
      return std::any_of(core.cpus.begin(), core.cpus.end(), [&cpus](int cpu) {
        return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
      });
    };
  };
  Cores rest = parent.machine.cores;
  const auto parents = std::count_if(rest.begin(), rest.end(), has_one_of(parent.cpus[0]));
  rest.erase(std::remove_if(rest.begin(), rest.end(), has_one_of(taken)), rest.end());
  const Cores free = places.hold.take(rest);
  const std::size_t each = std::min(static_cast<std::size_t>(parents), free.size() / wanted);
  Cpus ours;
  for (std::size_t i = 0; i < each * wanted; ++i) {
    Cpus& cpus = places.cpus[i / each];
    cpus.insert(cpus.end(), free[i].cpus.begin(), free[i].cpus.end());
    ours.insert(ours.end(), free[i].cpus.begin(), free[i].cpus.end());
  }
  places.hold.keep(ours);
  return places;
}

Places place_job(Options& options) {
  return place_on(read_machine(options), options, topo::CoreHold());
}

}  // namespace tern::mpirun
