// SPDX-License-Identifier: Apache-2.0
// tern_coll bound and forest: the least time of a collective on a machine, and trees that reach it.
#include "coll/forest/bound.hpp"

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/forest/form.hpp"
#include "coll/forest/plan.hpp"
#include "coll/topology/machines.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

using coll::Collective;
namespace forest = coll::forest;

/// The forests of a collective: allreduce runs a reduce_scatter, then an allgather.
std::vector<Collective> phases_of(const Options& options) {
  if (options.collective.empty()) return {Collective::kAllgather};
  Options words = options;
  words.algorithm.clear();
  const Collective collective = rows_of(words)[0]->collective;
  switch (collective) {
    case Collective::kAllreduce:
      return {Collective::kReduceScatter, Collective::kAllgather};
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kReduceScatter:
    case Collective::kAllgather:
      return {collective};
    default:
      throw Error(MPI_ERR_ARG,
                  strf("%s has no bound here; bcast, reduce, allgather, reduce_scatter and "
                       "allreduce have",
                       coll::name_of(collective)));
  }
}

coll::Topology topology_of(const Options& options) {
  if (!options.topology.empty()) return coll::load_topology(options.topology);
  throw Error(MPI_ERR_ARG, options.command +
                               " needs --topology=NAME: a known machine (tern_coll simulate), or "
                               "a file with a machine's description");
}

int32_t root_of(const Options& options, const coll::Topology& topology) {
  const int32_t root = std::max(options.root, 0);
  if (root < topology.ranks()) return root;
  throw Error(MPI_ERR_ARG, strf("--root=%d, but %s has %d GPUs", root, options.topology.c_str(),
                                topology.ranks()));
}

const char* note(size_t phases) { return phases == 1 ? "" : " (of reduce_scatter and allgather)"; }

std::string name_of(const Options& options) {
  return options.collective.empty() ? "allgather" : options.collective;
}

std::string gpus_named(const coll::Topology& topology, const forest::Forest& made,
                       const forest::Tree& tree) {
  const auto name = [&](int32_t rank) {
    return topology.name_of(topology.gpus[static_cast<size_t>(rank)]);
  };
  std::string words;
  for (int32_t rank = 0; rank < made.gpus; ++rank) {
    const int32_t parent = tree.parents[static_cast<size_t>(rank)];
    if (parent < 0) continue;
    words += forest::turned(made.collective) ? " " + name(rank) + ">" + name(parent)
                                             : " " + name(parent) + ">" + name(rank);
  }
  return words;
}

std::string forest_in_words(const coll::Topology& topology, const forest::Forest& made) {
  std::string text =
      strf("%s  %zu trees, k %d, depth %d, %.1f %% of the bound\n", coll::name_of(made.collective),
           made.trees.size(), made.k, forest::depth_of(made), 100 * made.share());
  for (const forest::Tree& tree : made.trees)
    text += strf("  %s %d/%d:%s\n",
                 topology.name_of(topology.gpus[static_cast<size_t>(tree.root)]).c_str(),
                 tree.weight, made.k, gpus_named(topology, made, tree).c_str());
  return text;
}

}  // namespace

int bound(const Options& options) {
  const coll::Topology topology = topology_of(options);
  const int32_t root = root_of(options, topology);
  const forest::Graph graph = forest::graph_of(topology);
  double ratio = 0;
  std::string cuts;
  const std::vector<Collective> phases = phases_of(options);
  for (const Collective phase : phases) {
    const forest::Graph way = forest::turned(phase) ? graph.turned() : graph;
    const forest::Bound found =
        forest::bound_of(way, forest::root_weights(phase, graph.gpus, root));
    ratio += static_cast<double>(found.units) / static_cast<double>(found.capacity);
    if (!found.cut.empty())
      cuts += strf("cut   %s%s\n", forest::turned(phase) ? "to " : "",
                   forest::cut_in_words(way, found.cut).c_str());
  }
  const double phase_ratio = ratio / static_cast<double>(phases.size());
  write_output(options,
               strf("%s, %d GPUs of %s\nbusbw bound %.2f GB/s%s\n", name_of(options).c_str(),
                    graph.gpus, options.topology.c_str(),
                    forest::bus_bound(graph, phases[0], phase_ratio), note(phases.size())) +
                   cuts);
  return 0;
}

int forest(const Options& options) {
  const coll::Topology topology = topology_of(options);
  const int32_t root = root_of(options, topology);
  const forest::Graph graph = forest::graph_of(topology);
  double bound = 0, time = 0;
  std::string trees;
  const std::vector<Collective> phases = phases_of(options);
  for (const Collective phase : phases) {
    const forest::Forest made = forest::make_forest(topology, phase, root);
    bound += made.bound.value();
    time += made.time.value() / made.k;
    trees += forest_in_words(topology, made);
  }
  const auto busbw = [&](double ratio) {
    return forest::bus_bound(
        graph, phases[0],
        ratio * static_cast<double>(graph.unit) / static_cast<double>(phases.size()));
  };
  write_output(options, strf("%s, %d GPUs of %s\nbusbw bound %.2f GB/s%s, forest %.2f GB/s\n",
                             name_of(options).c_str(), graph.gpus, options.topology.c_str(),
                             busbw(bound), note(phases.size()), busbw(time)) +
                            trees);
  return 0;
}

}  // namespace tern::coll_tool
