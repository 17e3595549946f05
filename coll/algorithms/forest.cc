// SPDX-License-Identifier: Apache-2.0
// Forest algorithms: one emission for all collectives.
#include "coll/algorithms/forest.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kMostForestLanes = 16;

/// A rank's place in one tree.
struct TreePlace {
  int32_t depth = 0;
  std::vector<int32_t> children;
};

TreePlace place_in(const forest::Tree& tree, int32_t rank) {
  TreePlace place;
  for (int32_t at = rank; at != tree.root; at = tree.parents[static_cast<size_t>(at)])
    ++place.depth;
  for (size_t child = 0; child < tree.parents.size(); ++child)
    if (tree.parents[child] == rank) place.children.push_back(static_cast<int32_t>(child));
  return place;
}

/// A step with one peer in one tree. Levels count hops from the first senders.
struct ForestMove {
  int32_t level, tree;
  int32_t peer;
  bool sends;
  int32_t order;  // among a level's moves of the tree
  [[nodiscard]] bool before(const ForestMove& other) const noexcept {
    return std::tie(level, tree, order) < std::tie(other.level, other.tree, other.order);
  }
};

/// Lanes, and stage slots of a lane: as many as the scratch limit of schedules allows.
struct ForestLanes {
  int32_t lanes, slots;
};

ForestLanes lanes_for(const Builder& b, const forest::Forests& forests) {
  size_t trees = 1;
  for (const forest::Forest& one : forests) trees = std::max(trees, one.trees.size());
  const int32_t most = std::min(kMostForestLanes, b.ranks());
  const int32_t lanes = std::min(most, static_cast<int32_t>(trees));
  return {lanes, std::min(kSlots, 2 * b.ranks() / lanes)};
}

class ForestPhase {
 public:
  ForestPhase(Builder& b, const ForestLanes& lanes, const forest::Forest& forest)
      : b_(b), whole_(b.collective()), lanes_(lanes), forest_(forest) {
    slots_.assign(static_cast<size_t>(lanes.lanes), 0);
    int32_t before = 0, root = -1;
    for (const forest::Tree& tree : forest.trees) {
      if (tree.root != root) before = 0;
      root = tree.root;
      first_.push_back((rooted(whole_) ? 0 : root * forest.k) + before);
      offset_.push_back(before);
      before += tree.weight;
    }
  }

  void send_down() {
    for (const ForestMove& move : moves(false)) {
      const Slice slice = down(move.tree);
      take_lane(move);
      if (move.sends)
        b_.send(move.peer, slice);
      else
        b_.recv(move.peer, slice);
    }
  }

  void sum_up() {
    received_.assign(forest_.trees.size(), 0);
    for (const ForestMove& move : moves(true)) {
      take_lane(move);
      for (int32_t part = 0; part < weight(move.tree); ++part) {
        if (move.sends)
          b_.send(move.peer, held(move.tree, part));
        else
          add(move, part);
      }
      if (!move.sends) ++received_[static_cast<size_t>(move.tree)];
    }
  }

 private:
  [[nodiscard]] const forest::Tree& tree(int32_t number) const {
    return forest_.trees[static_cast<size_t>(number)];
  }
  [[nodiscard]] int32_t weight(int32_t number) const { return tree(number).weight; }

  [[nodiscard]] std::vector<ForestMove> moves(bool up) {
    std::vector<ForestMove> made;
    children_.clear();
    const int32_t deepest = forest::depth_of(forest_);
    for (int32_t number = 0; number < static_cast<int32_t>(forest_.trees.size()); ++number) {
      const TreePlace place = place_in(tree(number), b_.rank());
      const auto level = [&](int32_t depth) { return up ? deepest - depth : depth; };
      for (const int32_t child : place.children)
        made.push_back({level(place.depth + 1), number, child, !up, child});
      const int32_t parent = tree(number).parents[static_cast<size_t>(b_.rank())];
      if (parent >= 0) made.push_back({level(place.depth), number, parent, up, b_.rank()});
      children_.push_back(static_cast<int32_t>(place.children.size()));
    }
    std::sort(made.begin(), made.end(),
              [](const ForestMove& a, const ForestMove& c) { return a.before(c); });
    return made;
  }

  void take_lane(const ForestMove& move) { b_.lane(move.tree % lanes_.lanes); }

  [[nodiscard]] Slice down(int32_t number) const {
    const auto at = static_cast<size_t>(number);
    const bool own = whole_ == Collective::kAllgather && tree(number).root == b_.rank();
    return own ? Builder::input(offset_[at], weight(number))
               : Builder::output(first_[at], weight(number));
  }

  [[nodiscard]] Slice in_mirror(int32_t number, int32_t part) const {
    return slice_at(b_, kAtMirror, first_[static_cast<size_t>(number)] + part, 1);
  }

  [[nodiscard]] Slice own_input(int32_t number, int32_t part) const {
    return Builder::input(first_[static_cast<size_t>(number)] + part);
  }

  [[nodiscard]] Slice held(int32_t number, int32_t part) const {
    return children_[static_cast<size_t>(number)] == 0 ? own_input(number, part)
                                                       : in_mirror(number, part);
  }

  [[nodiscard]] Slice result(int32_t number, int32_t part) const {
    const auto at = static_cast<size_t>(number);
    return Builder::output((whole_ == Collective::kReduceScatter ? offset_[at] : first_[at]) +
                           part);
  }

  // The first child's part arrives in the mirror. The root's input comes in last, so the result may
  // replace the input.
  void add(const ForestMove& move, int32_t part) {
    const auto at = static_cast<size_t>(move.tree);
    const Slice sum = in_mirror(move.tree, part), input = own_input(move.tree, part);
    const bool first = received_[at] == 0;
    const Slice theirs = first ? sum : Builder::staged(next_slot(move.tree), sum.first);
    b_.recv(move.peer, theirs);
    if (!first) b_.reduce(theirs, sum, sum);
    if (received_[at] + 1 < children_[at]) return;
    if (tree(move.tree).root == b_.rank())
      b_.reduce(sum, input, result(move.tree, part));
    else
      b_.reduce(input, sum, sum);
  }

  [[nodiscard]] int32_t next_slot(int32_t number) {
    const int32_t lane = number % lanes_.lanes;
    return lane * lanes_.slots + slots_[static_cast<size_t>(lane)]++ % lanes_.slots;
  }

  Builder& b_;
  const Collective whole_;
  const ForestLanes lanes_;
  const forest::Forest& forest_;
  std::vector<int32_t> first_, offset_;       // by tree: block number, and part of the root's block
  std::vector<int32_t> children_, received_;  // by tree, of this rank
  std::vector<int32_t> slots_;                // used, by lane
};

void copy_own(Builder& b, int32_t k) {
  if (b.ranks() > 1 && reduces(b.collective())) return;
  if (b.collective() == Collective::kAllgather)
    b.copy(Builder::input(0, k), Builder::output(b.rank() * k, k));
  else if (b.collective() != Collective::kBcast)
    b.copy(Builder::input(0, b.parts()), Builder::output(0, b.parts()));
}

}  // namespace

void emit_forests(Builder& b, const forest::Forests& forests) {
  const Collective whole = b.collective();
  const int32_t k = forests[0].k;
  b.split(whole == Collective::kAllreduce ? b.ranks() * k : k);
  if (reduces(whole)) b.mirrors(1);
  const ForestLanes lanes = lanes_for(b, forests);
  if (reduces(whole)) b.stage(lanes.lanes * lanes.slots);
  b.lanes(lanes.lanes);
  copy_own(b, k);
  for (const forest::Forest& forest : forests) {
    ForestPhase phase(b, lanes, forest);
    if (reduces(forest.collective))
      phase.sum_up();
    else
      phase.send_down();
  }
}

}  // namespace tern::coll
