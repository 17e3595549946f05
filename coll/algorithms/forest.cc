// SPDX-License-Identifier: Apache-2.0
// Forest algorithms: blocks travel along packed trees (coll/forest), one emission for all
// collectives. A tree of weight m carries m parts of its root's data. All ranks emit in the order
// (phase, depth, tree), so both ends of an edge agree and waits form no circle. An allreduce
// is a reduce_scatter, then an allgather.
#include <algorithm>
#include <deque>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/forest/forest_plan.hpp"

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

/// A step with a peer in a tree. Levels count hops from the first senders.
struct ForestMove {
  int32_t level, tree;
  int32_t peer;
  bool sends;
  int32_t order;  // among a level's moves of the tree
  [[nodiscard]] bool before(const ForestMove& other) const noexcept {
    return std::tie(level, tree, order) < std::tie(other.level, other.tree, other.order);
  }
};

int32_t lanes_for(const forest::Forests& forests) {
  size_t lanes = 1;
  for (const forest::Forest& one : forests) lanes = std::max(lanes, one.trees.size());
  return std::min(kMostForestLanes, static_cast<int32_t>(lanes));
}

/// Arriving parts beside the first child's of each tree get a slot each, up to the
/// scratch limit of schedules.
int32_t slots_for(const Builder& b, const forest::Forest& up, int32_t parts) {
  int32_t arriving = 0;
  for (const forest::Tree& tree : up.trees) {
    const auto children =
        static_cast<int32_t>(std::count(tree.parents.begin(), tree.parents.end(), b.rank()));
    arriving += std::max(children - 1, 0) * tree.weight * (parts / up.k);
  }
  return std::min(arriving, 2 * b.ranks());
}

class ForestPhase {
 public:
  ForestPhase(Builder& b, Collective whole, const forest::Forest& forest, int32_t lanes,
              int32_t parts)
      : b_(b), whole_(whole), forest_(forest), lanes_(lanes) {
    int32_t before = 0, root = -1;
    for (const forest::Tree& tree : forest.trees) {
      if (tree.root != root) before = 0;
      root = tree.root;
      first_.push_back((rooted(whole_) ? 0 : root * parts) + before);
      offset_.push_back(before);
      parts_.push_back(tree.weight * (parts / forest.k));
      before += parts_.back();
    }
  }

  void send_down() {
    for (const ForestMove& move : moves(false)) {
      const Slice slice = down(move.tree);
      b_.lane(lane_of(move.tree));
      if (move.sends)
        b_.send(move.peer, slice);
      else
        b_.recv(move.peer, slice);
    }
  }

  // Receives of a level start before the sums, so no child waits for another.
  void sum_up(int32_t slots) {
    slots_ = slots;
    received_.assign(forest_.trees.size(), 0);
    int32_t level = 0;
    for (const ForestMove& move : moves(true)) {
      if (move.level != level) add_all();
      level = move.level;
      if (!move.sends) ++received_[static_cast<size_t>(move.tree)];
      for (int32_t part = 0; part < parts(move.tree); ++part) {
        if (!move.sends) {
          receive(move, part);
          continue;
        }
        b_.lane(lane_of(move.tree));
        b_.send(move.peer, held(move.tree, part));
      }
    }
    add_all();
  }

 private:
  [[nodiscard]] const forest::Tree& tree(int32_t number) const {
    return forest_.trees[static_cast<size_t>(number)];
  }
  [[nodiscard]] int32_t parts(int32_t number) const { return parts_[static_cast<size_t>(number)]; }

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

  [[nodiscard]] int lane_of(int32_t number) const { return number % lanes_; }

  [[nodiscard]] Slice down(int32_t number) const {
    const auto at = static_cast<size_t>(number);
    const bool own = whole_ == Collective::kAllgather && tree(number).root == b_.rank();
    return own ? Builder::input(offset_[at], parts(number))
               : Builder::output(first_[at], parts(number));
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

  struct Arrived {
    int32_t tree, part, slot;  // slot -1: in the mirror
    bool last;
  };

  // The first child's part arrives in the mirror, others in slots of the stage, in turn.
  void receive(const ForestMove& move, int32_t part) {
    const auto at = static_cast<size_t>(move.tree);
    const bool first = received_[at] == 1;
    if (!first && in_slots_ == slots_) add_oldest();
    const int32_t slot = first ? -1 : next_slot_++ % slots_;
    const Slice sum = in_mirror(move.tree, part);
    b_.lane(lane_of(move.tree));
    b_.recv(move.peer, first ? sum : Builder::staged(slot, sum.first));
    in_slots_ += first ? 0 : 1;
    arrived_.push_back({move.tree, part, slot, received_[at] == children_[at]});
  }

  void add_all() {
    while (!arrived_.empty()) add_next();
  }

  void add_oldest() {
    for (const int32_t before = in_slots_; in_slots_ == before;) add_next();
  }

  // The root's input comes in last, so the result may replace the input.
  void add_next() {
    const Arrived one = arrived_.front();
    arrived_.pop_front();
    const Slice sum = in_mirror(one.tree, one.part), input = own_input(one.tree, one.part);
    b_.lane(lane_of(one.tree));
    if (one.slot >= 0) {
      b_.reduce(Builder::staged(one.slot, sum.first), sum, sum);
      --in_slots_;
    }
    if (!one.last) return;
    if (tree(one.tree).root == b_.rank())
      b_.reduce(sum, input, result(one.tree, one.part));
    else
      b_.reduce(input, sum, sum);
  }

  Builder& b_;
  const Collective whole_;
  const forest::Forest& forest_;
  const int32_t lanes_;
  int32_t slots_ = 0, next_slot_ = 0, in_slots_ = 0;
  std::deque<Arrived> arrived_;  // not yet summed
  std::vector<int32_t> first_, offset_,
      parts_;                                 // by tree: block number, and part of the root's block
  std::vector<int32_t> children_, received_;  // by tree, of this rank
};

/// A single root's links wait for the deepest rank between passes.
int32_t passes_at_once(Collective whole, const forest::Forests& forests) {
  constexpr int32_t kMostAtOnce = 8;
  const int32_t hops = forest::depth_of(forests[0]) + 1;
  return rooted(whole) ? std::max(hops, Schedule::kAtOnce) : kMostAtOnce;
}

void copy_own(Builder& b, Collective whole, int32_t parts) {
  if (b.ranks() > 1 && reduces(whole)) return;
  if (whole == Collective::kAllgather)
    b.copy(Builder::input(0, parts), Builder::output(b.rank() * parts, parts));
  else if (whole != Collective::kBcast)
    b.copy(Builder::input(0, b.parts()), Builder::output(0, b.parts()));
}

void emit_forests(Builder& b, Collective whole, const forest::Forests& forests) {
  int32_t parts = 1;  // of a root's data
  for (const forest::Forest& forest : forests) parts = std::lcm(parts, forest.k);
  b.split(whole == Collective::kAllreduce ? b.ranks() * parts : parts);
  b.at_once(passes_at_once(whole, forests));
  if (reduces(whole)) b.mirrors(1);
  const int32_t lanes = lanes_for(forests);
  const int32_t slots = reduces(whole) ? slots_for(b, forests[0], parts) : 0;
  b.stage(slots);
  b.lanes(lanes);
  copy_own(b, whole, parts);
  for (const forest::Forest& forest : forests) {
    ForestPhase phase(b, whole, forest, lanes, parts);
    if (reduces(forest.collective))
      phase.sum_up(slots);
    else
      phase.send_down();
  }
}

void along_forest(Builder& b, Collective whole) {
  const auto& plan = static_cast<const forest::ForestPlan&>(*b.plan());
  emit_forests(b, whole, plan.forests(whole, b.root()));
}

}  // namespace

void bcast_forest(Builder& b) { along_forest(b, Collective::kBcast); }
void reduce_forest(Builder& b) { along_forest(b, Collective::kReduce); }
void allgather_forest(Builder& b) { along_forest(b, Collective::kAllgather); }
void reduce_scatter_forest(Builder& b) { along_forest(b, Collective::kReduceScatter); }
void allreduce_forest(Builder& b) { along_forest(b, Collective::kAllreduce); }

}  // namespace tern::coll
