// SPDX-License-Identifier: Apache-2.0
// Collectives and messages between two groups.
#include "call.hpp"
#include "coll.hpp"

namespace {

struct Between {
  MPI_Comm comm;
  int rank, size, remote;
  bool second;
  int root_group, root;
  int as_root;
  bool is_root, receives_from_root;
};

constexpr int kNone = 0;

void choose_root(Step& step, Between& b) {
  b.root_group = step.all.below(2);
  const bool mine = b.root_group == static_cast<int>(b.second);
  b.root = step.all.below(mine ? b.size : b.remote);
  b.is_root = mine && b.root == b.rank;
  b.receives_from_root = !mine;
  b.as_root = mine ? (b.is_root ? MPI_ROOT : MPI_PROC_NULL) : b.root;
  step.say("root %d of group %d", b.root, b.root_group);
}

void bcast(Step& step, Call& call, Between b) {
  choose_root(step, b);
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, 1);
  void* at = nullptr;
  int count = kNone;
  MPI_Datatype type = MPI_INT;
  if (b.is_root || b.receives_from_root) {
    Buffer& buffer = call.add(step, "buffer", signature, items, 1);
    at = buffer.at(), count = buffer.count, type = buffer.type();
  }
  THREE_FORMS(call, Bcast, bcast, at, count, type, b.as_root, b.comm);
}

void gather_or_scatter(Step& step, Call& call, Between b) {
  const bool gathers = step.all.one_in(2);
  choose_root(step, b);
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, step.size);
  void *one = nullptr, *all = nullptr;
  int one_count = kNone, all_count = kNone;
  MPI_Datatype one_type = MPI_INT, all_type = MPI_INT;
  if (b.is_root) {
    Buffer& buffer = call.add(step, "root's", signature, items, b.remote);
    all = buffer.at(), all_count = buffer.count, all_type = buffer.type();
  }
  if (b.receives_from_root) {
    Buffer& buffer = call.add(step, "the others'", signature, items, 1);
    one = buffer.at(), one_count = buffer.count, one_type = buffer.type();
  }
  if (gathers) {
    THREE_FORMS(call, Gather, gather, one, one_count, one_type, all, all_count, all_type, b.as_root,
                b.comm);
  } else {
    THREE_FORMS(call, Scatter, scatter, all, all_count, all_type, one, one_count, one_type,
                b.as_root, b.comm);
  }
}

void allgather(Step& step, Call& call, Between b) {
  Signature signatures[2] = {any_signature(step.all), any_signature(step.all)};
  const int items[2] = {any_count(step.all, signatures[0], step.size),
                        any_count(step.all, signatures[1], step.size)};
  Buffer& out = call.add(step, "send", signatures[b.second], items[b.second], 1);
  Buffer& in = call.add(step, "receive", signatures[!b.second], items[!b.second], b.remote);
  THREE_FORMS(call, Allgather, allgather, out.at(), out.count, out.type(), in.at(), in.count,
              in.type(), b.comm);
}

void alltoall(Step& step, Call& call, Between b) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, step.size);
  Buffer& out = call.add(step, "send", signature, items, b.remote);
  Buffer& in = call.add(step, "receive", signature, items, b.remote);
  THREE_FORMS(call, Alltoall, alltoall, out.at(), out.count, out.type(), in.at(), in.count,
              in.type(), b.comm);
}

void allreduce(Step& step, Call& call, Between b) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, 1);
  Buffer& out = call.add(step, "send", r.layout(), n, n);
  Buffer& in = call.add(step, "receive", r.layout(), n, n);
  if (r.rounded) look_at_reals(call, r.basic, step.size);
  THREE_FORMS(call, Allreduce, allreduce, out.at(), in.at(), n, out.type(), r.op, b.comm);
}

void reduce(Step& step, Call& call, Between b) {
  Reducing r(step, call);
  choose_root(step, b);
  const int n = any_count(step.all, r.signature, 1);
  Buffer& out = call.add(step, "send", r.layout(), n, n);
  Buffer& in = call.add(step, "receive", r.layout(), n, n);
  if (r.rounded) look_at_reals(call, r.basic, step.size);
  const void* from = b.receives_from_root ? out.at() : nullptr;
  void* to = b.is_root ? in.at() : nullptr;
  THREE_FORMS(call, Reduce, reduce, from, to, n, out.type(), r.op, b.as_root, b.comm);
}

void barrier(Step&, Call& call, Between b) { THREE_FORMS(call, Barrier, barrier, b.comm); }

using Make = void (*)(Step&, Call&, Between);
// MPICH 5.0.2 and Open MPI 5.0.11 hang if a rooted call with MPI_PROC_NULL is in flight next to
// another collective (MPI-5.0, 6.12 allows both). So rooted calls run alone.
constexpr Make kCalls[] = {allgather, alltoall,          allreduce, barrier,
                           bcast,     gather_or_scatter, reduce};
constexpr int kWithoutRoot = 4;

void messages(Step& step, const Between& b) {
  const int other = b.rank % b.remote;
  const int count = step.all.between(0, 3000);
  if (b.rank >= b.remote) return;
  std::vector<int> out(static_cast<size_t>(count) + 1, b.rank + 100 * b.second), in(out.size(), -1);
  MPI_Status status;
  step.ok(MPI_Sendrecv(out.data(), count, MPI_INT, other, 4, in.data(), count, MPI_INT, other, 4,
                       b.comm, &status),
          "MPI_Sendrecv");
  step.see("status", status, MPI_INT);
  step.see("received", in.data(), in.size() * sizeof(int));
}

void between(Step& step) {
  if (step.size == 1) return;
  Between b;
  std::vector<int> groups(static_cast<size_t>(step.size));
  for (int& group : groups) group = step.all.below(2);
  groups[0] = 0, groups[1] = 1;
  step.all.shuffle(groups);
  b.second = groups[static_cast<size_t>(step.rank)] == 1;
  int leader = 0;
  while ((groups[static_cast<size_t>(leader)] == 1) == b.second) ++leader;
  MPI_Comm half;
  step.ok(MPI_Comm_split(step.comm, b.second, step.mine.below(3), &half), "MPI_Comm_split");
  // The leader is the group's first member in the order of step.comm.
  int first = 0, place = -1;
  while ((groups[static_cast<size_t>(first)] == 1) != b.second) ++first;
  MPI_Comm_rank(half, &place);
  int local = step.rank == first ? place : -1, leads = -1;
  MPI_Allreduce(&local, &leads, 1, MPI_INT, MPI_MAX, half);
  step.ok(MPI_Intercomm_create(half, leads, step.comm, leader, step.tags, &b.comm),
          "MPI_Intercomm_create");
  MPI_Comm_rank(b.comm, &b.rank);
  MPI_Comm_size(b.comm, &b.size);
  MPI_Comm_remote_size(b.comm, &b.remote);
  step.see("sizes", b.size * 100 + b.remote);
  int inter = -1;
  MPI_Comm_test_inter(b.comm, &inter);
  step.see("inter", inter);
  if (step.all.one_in(3)) {
    MPI_Comm copy;
    step.ok(MPI_Comm_dup(b.comm, &copy), "MPI_Comm_dup");
    MPI_Comm_free(&b.comm);
    b.comm = copy;
  }
  messages(step, b);
  run_calls(step, [&b](Step& s, Call& call) {
    const int kinds = call.alone ? static_cast<int>(std::size(kCalls)) : kWithoutRoot;
    kCalls[s.all.below(kinds)](s, call, b);
  });
  MPI_Comm merged;
  step.ok(MPI_Intercomm_merge(b.comm, b.second, &merged), "MPI_Intercomm_merge");
  int rank;
  MPI_Comm_rank(merged, &rank);
  step.see("merged", rank);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&b.comm);
  MPI_Comm_free(&half);
}

}  // namespace

const Operation kInter[] = {{"between", between, 4}, {}};
