// SPDX-License-Identifier: Apache-2.0
// Binomial gather: a node collects the blocks of its subtree, then hands them on as one message.
// Definitions: node v is the v-th rank after the root; its subtree are the nodes from v on, in
// stage slots 0, 1, ... Cost: ceil(log2 p) rounds, at most n / 2 bytes in one. See: Chan, Heimlich,
// Purkayastha, van de Geijn 2007.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

// Nodes [node, node + width) are the ranks after the root, which wrap: at most two runs of the
// root's output.
void recv_subtree_at_root(Builder& b, int32_t node, int32_t width) {
  const int32_t first = b.wrap(node + b.root());
  const int32_t before_wrap = width < b.ranks() - first ? width : b.ranks() - first;
  b.recv(first, Builder::output(first, before_wrap));
  if (before_wrap < width) b.recv(first, Builder::output(0, width - before_wrap));
}

void send_subtree(Builder& b, int32_t parent, int32_t node, int32_t width) {
  const bool to_root = parent == b.root();
  const int32_t first = b.wrap(node + b.root());
  const int32_t before_wrap = width < b.ranks() - first ? width : b.ranks() - first;
  const int32_t run = to_root ? before_wrap : width;
  b.send(parent, Builder::staged(0, 0, run));
  if (run < width) b.send(parent, Builder::staged(run, 0, width - run));
}

}  // namespace

void gather_binomial(Builder& b) {
  const Binomial tree{b.ranks(), b.wrap(b.rank() - b.root())};
  const int32_t width = tree.subtree();
  if (tree.node == 0) {
    b.copy(Builder::input(), Builder::output(b.rank()));
    for (int32_t step = 1; step < tree.reach() && step < b.ranks(); step *= 2)
      recv_subtree_at_root(b, step, tree.width(step));
    return;
  }
  const int32_t parent = b.wrap(tree.parent() + b.root());
  if (width == 1) {
    b.send(parent, Builder::input());
    return;
  }
  b.stage(width);
  b.copy(Builder::input(), Builder::staged(0));
  for (int32_t step = 1; step < tree.reach() && tree.node + step < b.ranks(); step *= 2)
    b.recv(b.ring(step), Builder::staged(step, 0, tree.width(step)));
  send_subtree(b, parent, tree.node, width);
}

}  // namespace tern::coll
