// SPDX-License-Identifier: Apache-2.0
// pack: growing trees.
#include "coll/forest/pack.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "coll/forest/flow.hpp"
#include "mpi.h"

namespace tern::coll::forest {
namespace {

constexpr int32_t kAbsent = -2;

struct Growing {
  PackedTree tree;               // parents kAbsent: not yet joined
  std::vector<int32_t> members;  // in order of joining
  std::vector<size_t> refused;   // edges without room for this tree, for good
  size_t next = 0;               // members before have no edge left
  int32_t node = 0, arc = 0;     // in the network; the arc from the source
  [[nodiscard]] bool has(int32_t gpu) const {
    return tree.parents[static_cast<size_t>(gpu)] != kAbsent;
  }
  [[nodiscard]] bool complete() const { return members.size() == tree.parents.size(); }
};

class Packer {
 public:
  Packer(const std::vector<Graph::Edge>& edges, const std::vector<int64_t>& supplies)
      : edges_(edges),
        gpus_(static_cast<int32_t>(supplies.size())),
        out_(supplies.size()),
        network_(gpus_ + 1) {
    for (size_t edge = 0; edge < edges.size(); ++edge) {
      out_[static_cast<size_t>(edges[edge].from)].push_back(edge);
      edge_arcs_.push_back(network_.add(edges[edge].from, edges[edge].to, edges[edge].capacity));
    }
    for (int32_t gpu = 0; gpu < gpus_; ++gpu) tail_arcs_.push_back(network_.add(gpus_, gpu, 0));
    for (int32_t gpu = 0; gpu < gpus_; ++gpu) {
      Growing one;
      one.tree = {gpu, supplies[static_cast<size_t>(gpu)],
                  std::vector<int32_t>(supplies.size(), kAbsent)};
      one.tree.parents[static_cast<size_t>(gpu)] = -1;
      one.members = {gpu};
      if (one.tree.weight > 0) start(std::move(one));
    }
  }

  std::vector<PackedTree> run() {
    for (bool all = false; !all;) {
      all = true;
      for (size_t i = 0; i < growing_.size(); ++i) {  // grow() may append
        grow_level(i);
        all = all && growing_[i].complete();
      }
    }
    std::vector<PackedTree> trees;
    for (Growing& one : growing_) trees.push_back(std::move(one.tree));
    std::stable_sort(trees.begin(), trees.end(),
                     [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });
    return trees;
  }

 private:
  // Edges with room for the whole tree come first, so trees split only where they must.
  void grow_level(size_t number) {
    if (growing_[number].complete()) return;
    const size_t level = growing_[number].members.size();
    size_t narrow = edges_.size();
    int64_t room_of_narrow = 0;
    for (size_t at = growing_[number].next; at < level; ++at) {
      const int32_t from = growing_[number].members[at];
      for (const size_t edge : out_[static_cast<size_t>(from)]) {
        const int64_t room = room_for(number, edge);
        if (room == growing_[number].tree.weight) {
          join(number, edge);
        } else if (room > 0 && narrow == edges_.size()) {
          narrow = edge;
          room_of_narrow = room;
        }
      }
    }
    if (growing_[number].members.size() > level || growing_[number].complete()) {
      if (narrow == edges_.size()) growing_[number].next = level;
      return;
    }
    if (narrow == edges_.size())
      throw Error(MPI_ERR_INTERN,
                  strf("no edge is left for the tree of GPU %d: capacities do not suffice",
                       growing_[number].tree.root));
    split(number, room_of_narrow);
    join(number, narrow);
  }

  void start(Growing one) {
    one.node = network_.add_node();
    one.arc = network_.add(gpus_, one.node, 0);
    for (const int32_t member : one.members) (void)network_.add(one.node, member, kEndless);
    growing_.push_back(std::move(one));
  }

  void join(size_t number, size_t edge) {
    Growing& one = growing_[number];
    one.tree.parents[static_cast<size_t>(edges_[edge].to)] = edges_[edge].from;
    one.members.push_back(edges_[edge].to);
    edges_[edge].capacity -= one.tree.weight;
    network_.set(edge_arcs_[edge], edges_[edge].capacity);
    (void)network_.add(one.node, edges_[edge].to, kEndless);
  }

  void split(size_t number, int64_t weight) {
    Growing rest = growing_[number];
    rest.tree.weight -= weight;
    growing_[number].tree.weight = weight;
    start(std::move(rest));
  }

  // Rooms only shrink while trees grow, so an edge without room stays refused.
  [[nodiscard]] int64_t room_for(size_t number, size_t edge) {
    Growing& one = growing_[number];
    if (one.has(edges_[edge].to) || edges_[edge].capacity == 0) return 0;
    if (std::find(one.refused.begin(), one.refused.end(), edge) != one.refused.end()) return 0;
    const int64_t most = std::min(one.tree.weight, edges_[edge].capacity);
    const int64_t room = slack(number, edges_[edge].from, edges_[edge].to, most);
    if (room == 0) one.refused.push_back(edge);
    return room;
  }

  // A set of GPUs needs capacity for all trees outside. Each other incomplete tree is a node behind
  // the edge's tail, with the tree's weight, before the tree's members.
  [[nodiscard]] int64_t slack(size_t number, int32_t from, int32_t to, int64_t most) {
    int64_t others = 0;
    for (size_t i = 0; i < growing_.size(); ++i) {
      const Growing& other = growing_[i];
      const bool counts = i != number && !other.complete() && !other.has(to);
      network_.set(other.arc, counts ? other.tree.weight : 0);
      others += counts ? other.tree.weight : 0;
    }
    network_.set(tail_arcs_[static_cast<size_t>(from)], kEndless);
    const int64_t flow = network_.run(gpus_, to, others + most);
    network_.set(tail_arcs_[static_cast<size_t>(from)], 0);
    return std::clamp<int64_t>(flow - others, 0, most);
  }

  std::vector<Graph::Edge> edges_;
  const int32_t gpus_;
  std::vector<std::vector<size_t>> out_;  // edges by tail
  std::vector<Growing> growing_;
  FlowNetwork network_;  // GPUs, the source, a node for each tree
  std::vector<int32_t> edge_arcs_, tail_arcs_;
};

}  // namespace

std::vector<PackedTree> pack(const std::vector<Graph::Edge>& edges,
                             const std::vector<int64_t>& supplies) {
  return Packer(edges, supplies).run();
}

}  // namespace tern::coll::forest
