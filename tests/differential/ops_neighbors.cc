// SPDX-License-Identifier: Apache-2.0
// Topologies, and neighborhood collectives.
#include <algorithm>

#include "call.hpp"
#include "coll.hpp"

namespace {

struct Topology {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> from, to;
};

void grid(Step& step, Topology& t) {
  int dims[2] = {0, 0}, periods[2];
  MPI_Dims_create(step.size, 2, dims);
  step.see("dims", dims[0] * 100 + dims[1]);
  // With one or two ranks, a periodic dimension has two edges between the same ranks, and libraries
  // disagree on the order of messages.
  for (int i = 0; i < 2; ++i) periods[i] = dims[i] > 2 && step.all.one_in(2);
  step.ok(MPI_Cart_create(step.comm, 2, dims, periods, 0, &t.comm), "MPI_Cart_create");
  int coords[2], rank;
  MPI_Comm_rank(t.comm, &rank);
  MPI_Cart_coords(t.comm, rank, 2, coords);
  step.see("coords", coords, sizeof coords);
  for (int dim = 0; dim < 2; ++dim) {
    int before, behind;
    MPI_Cart_shift(t.comm, dim, 1, &before, &behind);
    for (int other : {before, behind}) {
      step.see("shift", other == MPI_PROC_NULL ? -1 : other);
      t.from.push_back(other);
      t.to.push_back(other);
    }
  }
}

void random_graph(Step& step, Topology& t) {
  for (int i = 0; i < step.size; ++i) {
    for (int j = 0; j < step.size; ++j) {
      if (step.all.one_in(2)) continue;
      if (i == step.rank) t.to.push_back(j);
      if (j == step.rank) t.from.push_back(i);
    }
  }
  step.mine.shuffle(t.from);
  step.mine.shuffle(t.to);
  const int number_from = static_cast<int>(t.from.size()),
            number_to = static_cast<int>(t.to.size());
  step.ok(MPI_Dist_graph_create_adjacent(step.comm, number_from, t.from.data(), MPI_UNWEIGHTED,
                                         number_to, t.to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                         &t.comm),
          "MPI_Dist_graph_create_adjacent");
  int in = -1, out = -1, weighted = -1;
  MPI_Dist_graph_neighbors_count(t.comm, &in, &out, &weighted);
  step.see("degrees", in * 1000 + out * 10 + weighted);
}

void allgather(Step& step, Call& call, const Topology& t) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, 4);
  Buffer& out = call.add(step, "send", signature, items, 1);
  Buffer& in = call.add(step, "receive", signature, items, static_cast<int>(t.from.size()));
  THREE_FORMS(call, Neighbor_allgather, neighbor_allgather, out.at(), out.count, out.type(),
              in.at(), in.count, in.type(), t.comm);
}

void alltoall(Step& step, Call& call, const Topology& t) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, 4);
  Buffer& out = call.add(step, "send", signature, items, static_cast<int>(t.to.size()));
  Buffer& in = call.add(step, "receive", signature, items, static_cast<int>(t.from.size()));
  THREE_FORMS(call, Neighbor_alltoall, neighbor_alltoall, out.at(), out.count, out.type(), in.at(),
              in.count, in.type(), t.comm);
}

int carried(const Step& step, int from, int to, int most) {
  if (from == MPI_PROC_NULL || to == MPI_PROC_NULL) return 0;
  Random random(mixed(step.key, static_cast<uint64_t>(from * 100 + to + 7)));
  return random.one_in(4) ? 0 : random.between(0, most);
}

// Open MPI 5.0.11 checks as many receive counts as outgoing edges, and vice versa. Zeros follow the
// counts.
constexpr size_t kMost = 16;

void alltoallv(Step& step, Call& call, const Topology& t) {
  const Signature signature = any_signature(step.all);
  const int most = any_count(step.all, signature, 4);
  std::vector<int>&sent = call.ints.emplace_back(), &received = call.ints.emplace_back();
  for (int to : t.to) sent.push_back(carried(step, step.rank, to, most));
  for (int from : t.from) received.push_back(carried(step, from, step.rank, most));
  sent.resize(kMost), received.resize(kMost);
  std::vector<int>&places = call.ints.emplace_back(), &own = call.ints.emplace_back();
  const int room = any_places(step.mine, received, places),
            space = any_places(step.mine, sent, own);
  Buffer& out = call.add(step, "send", any_layout(step.mine, signature, 1), 0, space);
  Buffer& in = call.add(step, "receive", any_layout(step.mine, signature, 1), 0, room);
  const int *s = sent.data(), *sp = own.data(), *r = received.data(), *rp = places.data();
  THREE_FORMS(call, Neighbor_alltoallv, neighbor_alltoallv, out.at(), s, sp, out.type(), in.at(), r,
              rp, in.type(), t.comm);
}

void allgatherv(Step& step, Call& call, const Topology& t) {
  const Signature signature = any_signature(step.all);
  const int most = any_count(step.all, signature, 4);
  std::vector<int>&received = call.ints.emplace_back(), &places = call.ints.emplace_back();
  for (int from : t.from) received.push_back(carried(step, from, 0, most));
  received.resize(kMost);
  const int room = any_places(step.mine, received, places);
  Buffer& out = call.add(step, "send", signature, carried(step, step.rank, 0, most), 1);
  Buffer& in = call.add(step, "receive", any_layout(step.mine, signature, 1), 0, room);
  const int *r = received.data(), *rp = places.data();
  THREE_FORMS(call, Neighbor_allgatherv, neighbor_allgatherv, out.at(), out.count, out.type(),
              in.at(), r, rp, in.type(), t.comm);
}

void alltoallw(Step& step, Call& call, const Topology& t) {
  Signature signature = any_signature(step.all);
  while (has_padding(signature)) signature = any_signature(step.all);
  const int most = any_count(step.all, signature, 8);
  Parts send, receive;
  for (int to : t.to) send.add(step, signature, carried(step, step.rank, to, most));
  for (int from : t.from) receive.add(step, signature, carried(step, from, step.rank, most));
  const void* from = send.into(call);
  const int* sent = call.ints[call.ints.size() - 2].data();
  const MPI_Aint* own = call.bytes.back().data();
  const MPI_Datatype* types = call.types.back().data();
  void* to = receive.into(call);
  const int* received = call.ints[call.ints.size() - 2].data();
  const MPI_Aint* places = call.bytes.back().data();
  const MPI_Datatype* in_types = call.types.back().data();
  THREE_FORMS(call, Neighbor_alltoallw, neighbor_alltoallw, from, sent, own, types, to, received,
              places, in_types, t.comm);
}

using Make = void (*)(Step&, Call&, const Topology&);
constexpr Make kCalls[] = {allgather, alltoall, allgatherv, alltoallv, alltoallw};

void neighbors(Step& step) {
  Topology t;
  // Ranks keep their order, because carried() uses the ranks of step.comm.
  (step.all.one_in(2) ? grid : random_graph)(step, t);
  run_calls(step, [&t](Step& s, Call& call) {
    kCalls[s.all.below(static_cast<int>(std::size(kCalls)))](s, call, t);
  });
  MPI_Comm_free(&t.comm);
}

}  // namespace

const Operation kNeighbors[] = {{"neighbors", neighbors, 4}, {}};
