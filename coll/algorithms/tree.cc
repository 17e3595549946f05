// SPDX-License-Identifier: Apache-2.0
// Construction of trees.
#include "coll/algorithms/tree.hpp"

#include <algorithm>
#include <utility>

#include "coll/algorithms/ranks.hpp"
#include "coll/algorithms/swing.hpp"

namespace tern::coll {

RankPlace k_nomial_place(int32_t ranks, int32_t root, int32_t radix, int32_t rank) {
  const auto rank_of = [&](int64_t node) { return static_cast<int32_t>((node + root) % ranks); };
  const int64_t node = (int64_t{rank} - root + ranks) % ranks;
  RankPlace place;
  int64_t step = 1;
  while (step < ranks && node / step % radix == 0) step *= radix;
  if (node != 0) place.parent = rank_of(node - node / step % radix * step);
  while ((step /= radix) > 0)
    for (int64_t digit = radix - 1; digit > 0; --digit)
      if (node + digit * step < ranks) place.children.push_back(rank_of(node + digit * step));
  return place;
}

// Steps from `step` on reach from node 0 the nodes v for which v mod 2^(step + 1) is 0 or that of
// node 0's partner in `step`.
RankPlace bine_place(int32_t ranks, int32_t root, int32_t rank) {
  const int32_t size = floor_power(ranks), extra = ranks - size;
  const SwingSteps swing(size);
  const auto rank_of = [&](int32_t node) {
    return static_cast<int32_t>((int64_t{root} + node + std::min(node, extra)) % ranks);
  };
  const int32_t distance = static_cast<int32_t>((int64_t{rank} - root + ranks) % ranks);
  const bool last_child = distance < 2 * extra && distance % 2 != 0;
  if (last_child) return {.parent = rank_of(distance / 2)};
  const int32_t node = distance - std::min(distance / 2, extra);
  const auto within = [&](int32_t step) {
    const int32_t mask = (2 << step) - 1, rest = node & mask;
    return rest == 0 || rest == (swing.partner(0, step) & mask);
  };
  RankPlace place;
  int32_t step = swing.steps();
  if (node != 0) {
    do --step;
    while (!within(step));
    place.parent = rank_of(swing.partner(node, step));
  }
  while (--step >= 0) place.children.push_back(rank_of(swing.partner(node, step)));
  if (node < extra) place.children.push_back((rank_of(node) + 1) % ranks);
  return place;
}

namespace {

// Adds the rank's place in the binomial tree of `all`.
void join(RankPlace& place, const std::vector<int32_t>& all, int32_t rank) {
  const auto at = std::find(all.begin(), all.end(), rank);
  if (at == all.end()) return;
  const RankPlace here = k_nomial_place(static_cast<int32_t>(all.size()), 0, 2,
                                        static_cast<int32_t>(at - all.begin()));
  if (here.parent >= 0) place.parent = all[static_cast<size_t>(here.parent)];
  for (const int32_t child : here.children)
    place.children.push_back(all[static_cast<size_t>(child)]);
}

// Adds the rank's place in the tree of a host; the first member leads.
void join_host(RankPlace& place, const Levels& levels, std::vector<int32_t> members, int32_t rank) {
  for (size_t level = 1; level < levels.groups.size(); ++level) {
    const auto group = [&](int32_t of) { return levels.groups[level][static_cast<size_t>(of)]; };
    const int32_t first = members[0];
    std::vector<int32_t> leaders, mine;
    for (const int32_t one : members) {
      if (group(one) == group(first) ? one == first : one == group(one)) leaders.push_back(one);
      if (group(one) == group(rank)) mine.push_back(one);
    }
    join(place, leaders, rank);
    members = std::move(mine);
  }
  join(place, members, rank);
}

}  // namespace

RankPlace place_by_levels(const Levels* levels, int32_t ranks, int32_t root, int32_t rank) {
  if (levels == nullptr) return k_nomial_place(ranks, root, 2, rank);
  const auto host_of = [&](int32_t one) { return levels->groups[0][static_cast<size_t>(one)]; };
  std::vector<int32_t> members = levels->host_of(rank);
  const auto led = std::find(members.begin(), members.end(), root);
  if (led != members.end()) std::rotate(members.begin(), led, led + 1);
  RankPlace place;
  if (rank == members[0]) {
    std::vector<int32_t> leaders = levels->leaders();
    std::erase(leaders, host_of(root));
    leaders.insert(leaders.begin(), root);
    join(place, leaders, rank);
  }
  join_host(place, *levels, std::move(members), rank);
  return place;
}

void Tree::attach(int32_t child, int32_t parent) noexcept {
  TreeNode& above = at(parent);
  at(child).parent = parent;
  if (above.first < 0)
    above.first = child;
  else
    at(above.last).next = child;
  above.last = child;
}

// hang() attaches children in order of falling step.
void Tree::hang(const std::vector<int32_t>& members, int32_t radix) noexcept {
  const int64_t count = static_cast<int64_t>(members.size());
  const auto member = [&](int64_t node) { return members[static_cast<size_t>(node)]; };
  int64_t top = 1;
  while (top * radix < count) top *= radix;
  for (int64_t step = top; step > 0; step /= radix)
    for (int64_t node = 0; node < count; node += step * radix)
      for (int64_t digit = radix - 1; digit > 0; --digit)
        if (node + digit * step < count) attach(member(node + digit * step), member(node));
}

Tree Tree::k_nomial(int32_t ranks, int32_t root, int32_t radix) {
  Tree tree(ranks);
  std::vector<int32_t> members(static_cast<size_t>(ranks));
  for (int32_t node = 0; node < ranks; ++node)
    members[static_cast<size_t>(node)] = node < ranks - root ? node + root : node + root - ranks;
  tree.hang(members, radix);
  return tree;
}

Tree Tree::by_levels(const Levels* levels, int32_t ranks, int32_t root) {
  if (levels == nullptr) return k_nomial(ranks, root, 2);
  Tree tree(ranks);
  std::vector<int32_t> members{root};
  for (int32_t rank = 0; rank < ranks; ++rank)
    if (rank != root) members.push_back(rank);
  tree.hang_levels(*levels, 0, members);
  return tree;
}

void Tree::hang_levels(const Levels& levels, size_t level, const std::vector<int32_t>& members) {
  if (level == levels.groups.size()) return hang(members, 2);
  const auto& groups = levels.groups[level];
  std::vector<std::vector<int32_t>> parts;
  std::vector<int32_t> leaders, part_of(groups.size(), -1);
  for (const int32_t rank : members) {
    int32_t& part = part_of[static_cast<size_t>(groups[static_cast<size_t>(rank)])];
    if (part < 0) {
      part = static_cast<int32_t>(parts.size());
      parts.emplace_back();
      leaders.push_back(rank);
    }
    parts[static_cast<size_t>(part)].push_back(rank);
  }
  hang(leaders, 2);
  for (const auto& part : parts) hang_levels(levels, level + 1, part);
}

std::vector<int32_t> Tree::children(int32_t rank) const {
  std::vector<int32_t> found;
  for (int32_t child = at(rank).first; child >= 0; child = at(child).next) found.push_back(child);
  return found;
}

void Tree::collect(int32_t rank, std::vector<int32_t>& found) const {
  found.push_back(rank);
  const std::vector<int32_t> below = children(rank);
  for (auto child = below.rbegin(); child != below.rend(); ++child) collect(*child, found);
}

std::vector<int32_t> Tree::subtree(int32_t rank) const {
  std::vector<int32_t> found;
  collect(rank, found);
  return found;
}

// The second tree renames the first's nodes: mirrored for even counts, which turns leaves into
// inner nodes, else rotated by one.
int32_t DoubleTree::inner(int32_t node) const noexcept {
  if (!second) return node;
  return count % 2 == 0 ? count + 1 - node : node % count + 1;
}
int32_t DoubleTree::outer(int32_t node) const noexcept {
  if (!second || node == 0) return node;
  return count % 2 == 0 ? count + 1 - node : (node + count - 2) % count + 1;
}

int32_t DoubleTree::parent(int32_t node) const noexcept {
  const int32_t at = inner(node), bit = at & -at;
  const int32_t up = (at ^ bit) | (bit << 1);
  return outer(up > count ? at ^ bit : up);
}

int32_t DoubleTree::left(int32_t node) const noexcept {
  const int32_t at = inner(node), half = (at & -at) / 2;
  return half == 0 ? 0 : outer(at - half);
}

int32_t DoubleTree::right(int32_t node) const noexcept {
  const int32_t at = inner(node);
  int32_t half = (at & -at) / 2;
  while (half != 0 && at + half > count) half /= 2;
  return half == 0 ? 0 : outer(at + half);
}

RankPlace host_place(const Builder& b) {
  RankPlace place;
  join_host(place, *b.levels(), b.levels()->host_of(b.rank()), b.rank());
  return place;
}

}  // namespace tern::coll
