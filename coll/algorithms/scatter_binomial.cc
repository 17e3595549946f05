// SPDX-License-Identifier: Apache-2.0
// Binomial scatter: a node gets the blocks of its subtree as one message and hands the halves on.
// Definitions: node v is the v-th rank after the root; its subtree are the nodes from v on, in
// stage slots 0, 1, ... Cost: ceil(log2 p) rounds, at most n / 2 bytes in one. See: Chan, Heimlich,
// Purkayastha, van de Geijn 2007.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

// The root's input is in rank order, so a subtree that wraps round the last rank goes as two
// messages.
int32_t before_wrap(const Builder& b, int32_t first, int32_t width) {
  return width < b.ranks() - first ? width : b.ranks() - first;
}

void send_from_root(Builder& b, int32_t node, int32_t width) {
  const int32_t first = b.wrap(node + b.root());
  const int32_t run = before_wrap(b, first, width);
  b.send(first, Builder::input(first, run));
  if (run < width) b.send(first, Builder::input(0, width - run));
}

void recv_subtree(Builder& b, int32_t parent, int32_t width) {
  const int32_t run = parent == b.root() ? before_wrap(b, b.rank(), width) : width;
  b.recv(parent, Builder::staged(0, 0, run));
  if (run < width) b.recv(parent, Builder::staged(run, 0, width - run));
}

}  // namespace

void scatter_binomial(Builder& b) {
  const Binomial tree{b.ranks(), b.wrap(b.rank() - b.root())};
  const int32_t width = tree.subtree();
  const int32_t parent = b.wrap(tree.parent() + b.root());
  if (tree.node != 0 && width == 1) {
    b.recv(parent, Builder::output());
    return;
  }
  if (tree.node != 0) {
    b.stage(width);
    recv_subtree(b, parent, width);
  }
  for (int32_t step = tree.reach() / 2; step > 0; step /= 2) {
    if (tree.node + step >= b.ranks()) continue;
    if (tree.node == 0)
      send_from_root(b, step, tree.width(step));
    else
      b.send(b.ring(step), Builder::staged(step, 0, tree.width(step)));
  }
  b.copy(tree.node == 0 ? Builder::input(b.rank()) : Builder::staged(0), Builder::output());
}

}  // namespace tern::coll
