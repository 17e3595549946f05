// SPDX-License-Identifier: Apache-2.0
// Insignificant arguments may have any value: root arguments on other ranks, the root's part with
// MPI_IN_PLACE, the other side of an inter-communicator.
// ranks: 1 2 3 5
#include "check.h"

enum { kBlocking, kNonblocking, kPersistent, kForms, kMost = 16 };

static int form;
static MPI_Comm comm;
static MPI_Request request;

#define NO_BUFFER NULL
#define NO_COUNT (-3)
#define NO_TYPE MPI_DATATYPE_NULL
#define NO_OP MPI_OP_NULL

static void finish(void) {
  if (form == kPersistent) OK(MPI_Start(&request));
  if (form != kBlocking) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (form == kPersistent) OK(MPI_Request_free(&request));
}

#define RUN(name, i_name, ...)                                                                  \
  do {                                                                                          \
    if (form == kBlocking) OK(MPI_##name(__VA_ARGS__, comm));                                   \
    if (form == kNonblocking) OK(MPI_##i_name(__VA_ARGS__, comm, &request));                    \
    if (form == kPersistent) OK(MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request)); \
    finish();                                                                                   \
  } while (0)

static void expect(const int* got, int count, int first, int step) {
  for (int i = 0; i < count; ++i) CHECK_EQ(got[i], first + i * step);
}

static void rooted(int root) {
  int mine = 100 + rank, all[kMost], sum = 0, counts[kMost], displs[kMost];
  for (int i = 0; i < size; ++i) all[i] = i == root ? 100 + i : -1, counts[i] = 1, displs[i] = i;
  comm = MPI_COMM_WORLD;
  if (rank == root) {
    RUN(Gather, Igather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 1, MPI_INT, root);
    expect(all, size, 100, 1);
    RUN(Gatherv, Igatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts, displs, MPI_INT, root);
    RUN(Scatter, Iscatter, all, 1, MPI_INT, MPI_IN_PLACE, NO_COUNT, NO_TYPE, root);
    RUN(Scatterv, Iscatterv, all, counts, displs, MPI_INT, MPI_IN_PLACE, NO_COUNT, NO_TYPE, root);
    RUN(Reduce, Ireduce, &mine, &sum, 1, MPI_INT, MPI_SUM, root);
    CHECK_EQ(sum, 100 * size + size * (size - 1) / 2);
  } else {
    RUN(Gather, Igather, &mine, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root);
    RUN(Gatherv, Igatherv, &mine, 1, MPI_INT, NO_BUFFER, NULL, NULL, NO_TYPE, root);
    mine = -1;
    RUN(Scatter, Iscatter, NO_BUFFER, NO_COUNT, NO_TYPE, &mine, 1, MPI_INT, root);
    CHECK_EQ(mine, 100 + rank);
    mine = -1;
    RUN(Scatterv, Iscatterv, NO_BUFFER, NULL, NULL, NO_TYPE, &mine, 1, MPI_INT, root);
    CHECK_EQ(mine, 100 + rank);
    RUN(Reduce, Ireduce, &mine, NO_BUFFER, 1, MPI_INT, MPI_SUM, root);
  }
}

static void in_place(void) {
  int all[kMost], counts[kMost], displs[kMost];
  MPI_Datatype types[kMost];
  comm = MPI_COMM_WORLD;
  for (int i = 0; i < size; ++i) {
    all[i] = i == rank ? 7 * i : -1;
    counts[i] = 1, displs[i] = i, types[i] = MPI_INT;
  }
  RUN(Allgather, Iallgather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 1, MPI_INT);
  expect(all, size, 0, 7);
  RUN(Allgatherv, Iallgatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts, displs, MPI_INT);
  RUN(Alltoall, Ialltoall, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 1, MPI_INT);
  expect(all, size, 7 * rank, 0);
  RUN(Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, NO_TYPE, all, counts, displs, MPI_INT);
  expect(all, size, 0, 7);
  for (int i = 0; i < size; ++i) displs[i] = i * (int)sizeof(int);
  RUN(Alltoallw, Ialltoallw, MPI_IN_PLACE, NULL, NULL, NULL, all, counts, displs, types);
  expect(all, size, 7 * rank, 0);
}

static void exclusive(void) {
  int mine = rank + 1, before = -1;
  comm = MPI_COMM_WORLD;
  if (rank == 0) {
    RUN(Exscan, Iexscan, &mine, NO_BUFFER, 1, MPI_INT, MPI_SUM);
    RUN(Exscan, Iexscan, &mine, NULL, 1, MPI_INT, MPI_SUM);
    CHECK_EQ(mine, 1);
  } else {
    RUN(Exscan, Iexscan, &mine, &before, 1, MPI_INT, MPI_SUM);
    CHECK_EQ(before, rank * (rank + 1) / 2);
    RUN(Exscan, Iexscan, &mine, &before, 1, MPI_INT, MPI_SUM);
    CHECK_EQ(before, rank * (rank + 1) / 2);
  }
}

static void nothing(void) {
  int counts[kMost] = {0}, displs[kMost] = {0};
  comm = MPI_COMM_WORLD;
  RUN(Alltoallv, Ialltoallv, NULL, counts, displs, MPI_INT, NULL, counts, displs, MPI_INT);
  RUN(Allreduce, Iallreduce, NULL, NULL, 0, MPI_INT, MPI_SUM);
  RUN(Bcast, Ibcast, NULL, 0, MPI_INT, 0);
}

static void between(MPI_Comm inter, int others, int from_even) {
  const int in_roots = (rank % 2 == 0) == from_even, n = in_roots ? others : size - others;
  int mine = 100 + rank, all[kMost], sum = 0, value = -1, counts[kMost], displs[kMost];
  const int root = !in_roots ? 0 : rank < 2 ? MPI_ROOT : MPI_PROC_NULL;
  for (int i = 0; i < n; ++i) all[i] = -1, counts[i] = 1, displs[i] = i;
  comm = inter;
  if (root == MPI_ROOT) {
    RUN(Gather, Igather, NO_BUFFER, NO_COUNT, NO_TYPE, all, 1, MPI_INT, root);
    expect(all, n, 100 + from_even, 2);
    RUN(Gatherv, Igatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts, displs, MPI_INT, root);
    RUN(Scatter, Iscatter, all, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root);
    RUN(Scatterv, Iscatterv, all, counts, displs, MPI_INT, MPI_IN_PLACE, NO_COUNT, NO_TYPE, root);
    RUN(Reduce, Ireduce, NO_BUFFER, &sum, 1, MPI_INT, MPI_SUM, root);
    CHECK_EQ(sum, n * (100 + from_even) + n * (n - 1));
    RUN(Reduce, Ireduce, &sum, &sum, 1, MPI_INT, MPI_SUM, root);
    RUN(Bcast, Ibcast, &sum, 1, MPI_INT, root);
  } else if (root == MPI_PROC_NULL) {
    RUN(Gather, Igather, NO_BUFFER, NO_COUNT, NO_TYPE, NO_BUFFER, NO_COUNT, NO_TYPE, root);
    RUN(Gatherv, Igatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, NO_BUFFER, NULL, NULL, NO_TYPE, root);
    RUN(Scatter, Iscatter, NO_BUFFER, NO_COUNT, NO_TYPE, NO_BUFFER, NO_COUNT, NO_TYPE, root);
    RUN(Scatterv, Iscatterv, NO_BUFFER, NULL, NULL, NO_TYPE, MPI_IN_PLACE, 1, NO_TYPE, root);
    RUN(Reduce, Ireduce, NO_BUFFER, NO_BUFFER, 1, MPI_INT, MPI_SUM, root);
    RUN(Reduce, Ireduce, NO_BUFFER, NO_BUFFER, NO_COUNT, NO_TYPE, NO_OP, root);
    RUN(Bcast, Ibcast, NO_BUFFER, NO_COUNT, NO_TYPE, root);
  } else {
    RUN(Gather, Igather, &mine, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root);
    RUN(Gatherv, Igatherv, &mine, 1, MPI_INT, NO_BUFFER, NULL, NULL, NO_TYPE, root);
    RUN(Scatter, Iscatter, NO_BUFFER, NO_COUNT, NO_TYPE, &value, 1, MPI_INT, root);
    CHECK_EQ(value, mine);
    RUN(Scatterv, Iscatterv, NO_BUFFER, NULL, NULL, NO_TYPE, &value, 1, MPI_INT, root);
    RUN(Reduce, Ireduce, &mine, NO_BUFFER, 1, MPI_INT, MPI_SUM, root);
    RUN(Reduce, Ireduce, &mine, &mine, 1, MPI_INT, MPI_SUM, root);
    RUN(Bcast, Ibcast, &sum, 1, MPI_INT, root);
    CHECK_EQ(sum, n * (100 + from_even) + n * (n - 1));
  }
}

static void between_groups(void) {
  MPI_Comm own, inter;
  if (size < 2) return;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &own));
  OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
  const int others = rank % 2 == 0 ? size / 2 : (size + 1) / 2;
  for (int from_even = 0; from_even < 2; ++from_even) between(inter, others, from_even);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&own));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (form = kBlocking; form < kForms; ++form) {
    for (int root = 0; root < size; ++root) rooted(root);
    in_place();
    exclusive();
    nothing();
    between_groups();
  }
  return end();
}
