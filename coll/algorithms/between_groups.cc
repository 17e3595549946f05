// SPDX-License-Identifier: Apache-2.0
// Collectives of inter-communicators (MPI-5.0 section 6.2.3). Data common to a group goes from the
// remote rank 0 down a tree, or up a tree in rank order to rank 0 and across; other blocks go
// directly, within a window. Definitions: p local ranks; q remote ranks, numbered p to p + q - 1.
// In rooted collectives the root is below p in the root's group (other ranks are idle), from p on
// in the other group.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

int32_t other(const Builder& b, int32_t rank) { return b.ranks() + rank; }
bool is_root(const Builder& b) { return b.root() == b.rank(); }
bool is_leaf(const Builder& b) { return b.root() >= b.ranks(); }

RankPlace place_of(const Builder& b) { return k_nomial_place(b.ranks(), 0, 2, b.rank()); }

void hand_down(Builder& b, const RankPlace& place, int32_t from_there) {
  b.recv(place.parent >= 0 ? place.parent : from_there, Builder::output());
  for (const int32_t child : place.children) b.send(child, Builder::output());
}

// Each round uses a single distance, so a rank can wait only for an earlier round.
void exchange(Builder& b, bool same_for_all) {
  const int32_t rounds = std::max(b.ranks(), b.others());
  b.window(kWindow);
  for (int32_t round = 0; round < rounds; ++round) {
    const int32_t from = (b.rank() - round + rounds) % rounds, to = (b.rank() + round) % rounds;
    if (from < b.others()) b.recv(other(b, from), Builder::output(from));
    if (to < b.others()) b.send(other(b, to), Builder::input(same_for_all ? 0 : to));
  }
}

PartialBuffer reduce_vectors(Builder& b, const RankPlace& place) {
  PartialBuffer held = kAtInput, spare = kAtMirror;
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
    const Slice received = slice_at(b, spare, 0, b.ranks());
    b.recv(*child, received);
    b.reduce(slice_at(b, held, 0, b.ranks()), received, received);
    held = spare;
    spare = held == kAtMirror ? kAtSecondMirror : kAtMirror;
  }
  return held;
}

}  // namespace

void between_barrier(Builder& b) {
  constexpr int32_t kUp = 0, kDown = 1, kAcross = 2;
  const RankPlace place = place_of(b);
  const int32_t parent = place.parent;
  for (const int32_t child : place.children) b.wait(child, kUp);
  b.signal(parent >= 0 ? parent : other(b, 0), parent >= 0 ? kUp : kAcross);
  b.wait(parent >= 0 ? parent : other(b, 0), parent >= 0 ? kDown : kAcross);
  for (const int32_t child : place.children) b.signal(child, kDown);
}

void between_bcast(Builder& b) {
  if (is_root(b)) b.send(other(b, 0), Builder::output());
  if (is_leaf(b)) hand_down(b, place_of(b), b.root());
}

void between_gather(Builder& b) {
  b.window(kWindow);
  if (is_leaf(b)) b.send(b.root(), Builder::input());
  for (int32_t rank = 0; is_root(b) && rank < b.others(); ++rank)
    b.recv(other(b, rank), Builder::output(rank));
}

void between_scatter(Builder& b) {
  b.window(kWindow);
  if (is_leaf(b)) b.recv(b.root(), Builder::output());
  for (int32_t rank = 0; is_root(b) && rank < b.others(); ++rank)
    b.send(other(b, rank), Builder::input(rank));
}

void between_allgather(Builder& b) { exchange(b, true); }

void between_alltoall(Builder& b) { exchange(b, false); }

void between_reduce(Builder& b) {
  if (is_root(b)) b.recv(other(b, 0), Builder::output());
  if (!is_leaf(b)) return;
  const Slice held = reduce_up(b, place_of(b));
  if (b.rank() == 0) b.send(b.root(), held);
}

void between_allreduce(Builder& b) {
  const RankPlace place = place_of(b);
  const Slice held = reduce_up(b, place);
  if (b.rank() == 0) b.send(other(b, 0), held);
  hand_down(b, place, other(b, 0));
}

// The groups split vectors differently, so the whole vector goes across.
void between_reduce_scatter(Builder& b) {
  const RankPlace place = place_of(b);
  b.mirrors(2);
  const PartialBuffer held = reduce_vectors(b, place);
  const Slice vector = slice_at(b, held, 0, b.ranks());
  if (b.rank() != 0) {
    b.send(place.parent, vector);
    return b.recv(0, Builder::output());
  }
  const PartialBuffer theirs = held == kAtMirror ? kAtSecondMirror : kAtMirror;
  b.recv(other(b, 0), slice_at(b, theirs, 0, b.ranks()));
  b.send(other(b, 0), vector);
  for (int32_t rank = 1; rank < b.ranks(); ++rank) b.send(rank, slice_at(b, theirs, rank, 1));
  b.copy(slice_at(b, theirs, 0, 1), Builder::output());
}

}  // namespace tern::coll
