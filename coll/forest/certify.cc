// SPDX-License-Identifier: Apache-2.0
// certify: trees span, links carry no more than claimed, the cut proves the bound.
#include "coll/forest/certify.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll::forest {
namespace {

using Wide = __int128;

bool leads_to_root(const Forest& f) {
  return f.collective == Collective::kReduce || f.collective == Collective::kReduceScatter;
}

int64_t units_of(const Forest& f, int32_t gpu) {
  return !rooted(f.collective) || gpu == f.root ? 1 : 0;
}

std::string shape_fault(const Forest& f, const Topology& topology) {
  const Collective c = f.collective;
  if (c != Collective::kBcast && c != Collective::kAllgather && !leads_to_root(f))
    return strf("%s has no forest", name_of(c));
  if (f.gpus != topology.ranks())
    return strf("a forest of %d GPUs for a machine of %d", f.gpus, topology.ranks());
  if (f.k < 1) return strf("k is %d", f.k);
  if (rooted(c) && (f.root < 0 || f.root >= f.gpus)) return strf("root %d is no GPU", f.root);
  if (f.time.over < (f.gpus > 1 ? 1 : 0) || f.time.under < 1 || f.bound.over < 0 ||
      f.bound.under < 1)
    return "time or bound is no fraction above 0";
  return {};
}

std::string weight_fault(const Forest& f) {
  std::vector<int64_t> sums(static_cast<size_t>(f.gpus), 0);
  int32_t before = 0;
  for (const Tree& tree : f.trees) {
    if (tree.root < 0 || tree.root >= f.gpus) return strf("root %d is no GPU", tree.root);
    if (tree.root < before) return strf("a tree of root %d comes after root %d", tree.root, before);
    before = tree.root;
    if (tree.weight < 1) return strf("a tree of root %d weighs %d", tree.root, tree.weight);
    sums[static_cast<size_t>(tree.root)] += tree.weight;
  }
  for (int32_t gpu = 0; gpu < f.gpus; ++gpu)
    if (sums[static_cast<size_t>(gpu)] != f.k * units_of(f, gpu))
      return strf("trees of root %d weigh %lld instead of %lld", gpu,
                  static_cast<long long>(sums[static_cast<size_t>(gpu)]),
                  static_cast<long long>(f.k * units_of(f, gpu)));
  return {};
}

std::string span_fault(const Forest& f, const Tree& tree) {
  if (tree.parents.size() != static_cast<size_t>(f.gpus))
    return strf("a tree of root %d has %zu ranks", tree.root, tree.parents.size());
  for (int32_t gpu = 0; gpu < f.gpus; ++gpu) {
    int32_t at = gpu;
    for (int32_t hops = 0; at != tree.root; ++hops) {
      at = tree.parents[static_cast<size_t>(at)];
      if (at < 0 || at >= f.gpus || hops == f.gpus)
        return strf("a tree of root %d does not reach rank %d", tree.root, gpu);
    }
  }
  if (tree.parents[static_cast<size_t>(tree.root)] != -1)
    return strf("root %d has a parent", tree.root);
  return {};
}

std::string load_fault(const Forest& f, const Topology& topology) {
  Routes routes(topology);
  std::vector<int64_t> loads(topology.links.size(), 0);
  for (const Tree& tree : f.trees)
    for (int32_t gpu = 0; gpu < f.gpus; ++gpu) {
      const int32_t parent = tree.parents[static_cast<size_t>(gpu)];
      if (parent < 0) continue;
      const auto& route =
          leads_to_root(f) ? routes.between(gpu, parent) : routes.between(parent, gpu);
      for (const int32_t link : route.links) loads[static_cast<size_t>(link)] += tree.weight;
    }
  for (size_t link = 0; link < loads.size(); ++link) {
    const Wide most = static_cast<Wide>(f.time.over) * topology.links[link].capacity;
    if (static_cast<Wide>(loads[link]) * f.time.under <= most) continue;
    return strf("link %s carries %lld trees, above %g",
                topology.name_of_link(static_cast<int32_t>(link)).c_str(),
                static_cast<long long>(loads[link]),
                f.time.value() * static_cast<double>(topology.links[link].capacity));
  }
  return {};
}

std::string cut_fault(const Forest& f, const Topology& topology) {
  std::vector<char> inside(topology.nodes.size(), 0);
  for (const std::string& name : f.cut) {
    const auto found = std::find_if(topology.nodes.begin(), topology.nodes.end(),
                                    [&](const Topology::Node& node) { return node.name == name; });
    if (found == topology.nodes.end()) return "the cut names " + name + ", which is no node";
    inside[static_cast<size_t>(found - topology.nodes.begin())] = 1;
  }
  int64_t units = 0, outside = 0, capacity = 0;
  for (int32_t rank = 0; rank < f.gpus; ++rank) {
    const bool in = inside[static_cast<size_t>(topology.gpus[static_cast<size_t>(rank)])] != 0;
    units += in ? units_of(f, rank) : 0;
    outside += in ? 0 : 1;
  }
  if (outside == 0) return "the cut lacks no GPU";
  for (const Topology::Link& link : topology.links) {
    const bool from = inside[static_cast<size_t>(link.from)] != 0;
    const bool to = inside[static_cast<size_t>(link.to)] != 0;
    if (from != to && from != leads_to_root(f)) capacity += link.capacity;
  }
  if (units == 0 || capacity == 0) return "the cut holds no data, or no link leaves it";
  if (static_cast<Wide>(f.bound.over) * capacity != static_cast<Wide>(f.bound.under) * units)
    return strf("the cut's ratio is %lld / %lld instead of %lld / %lld",
                static_cast<long long>(units), static_cast<long long>(capacity),
                static_cast<long long>(f.bound.over), static_cast<long long>(f.bound.under));
  return {};
}

}  // namespace

std::string certify(const Forest& forest, const Topology& topology) {
  std::string fault = shape_fault(forest, topology);
  if (fault.empty()) fault = weight_fault(forest);
  for (const Tree& tree : forest.trees)
    if (fault.empty()) fault = span_fault(forest, tree);
  if (fault.empty()) fault = load_fault(forest, topology);
  if (fault.empty() && forest.gpus > 1) fault = cut_fault(forest, topology);
  return fault;
}

}  // namespace tern::coll::forest
