// SPDX-License-Identifier: Apache-2.0
// Collectives between groups of different sizes, several in flight.
//
// ranks: 2 3 4 7
#include "check.h"

enum { kCount = 5, kMost = 64 };
static MPI_Comm inter;
static int mine, members, others, side;

static int world_of_other(int i) { return 2 * i + 1 - side; }
static void expect(const int* block, int from, int first) {
  for (int k = 0; k < kCount; ++k) CHECK_EQ(block[k], 100 * from + first + k);
}
static void put(int* block, int first) {
  for (int k = 0; k < kCount; ++k) block[k] = 100 * rank + first + k;
}
static int root_of(int of) {
  if (side != of) return others - 1;
  return mine == members - 1 ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int of) {
  const int root = root_of(of), at_root = root == MPI_ROOT, leaf = side != of;
  const int root_world = 2 * ((of == side ? members : others) - 1) + of;
  int out[kMost * kCount], in[kMost * kCount];
  put(out, 0);
  OK(MPI_Bcast(out, kCount, MPI_INT, root, inter));
  if (leaf) expect(out, root_world, 0);
  put(out, 10);
  memset(in, -1, sizeof in);
  OK(MPI_Gather(out, kCount, MPI_INT, in, kCount, MPI_INT, root, inter));
  for (int i = 0; i < others && at_root; ++i) expect(in + i * kCount, world_of_other(i), 10);
  if (!at_root) CHECK_EQ(in[0], -1);
  for (int i = 0; i < others; ++i) put(out + i * kCount, 10 * i);
  OK(MPI_Scatter(out, kCount, MPI_INT, in, kCount, MPI_INT, root, inter));
  if (leaf) expect(in, root_world, 10 * mine);
  int sum[2] = {-1, -1}, value[2] = {rank, 1};
  OK(MPI_Reduce(value, sum, 2, MPI_INT, MPI_SUM, root, inter));
  int expected = 0;
  for (int i = 0; i < others; ++i) expected += world_of_other(i);
  CHECK_EQ(sum[0], at_root ? expected : -1);
  CHECK_EQ(sum[1], at_root ? others : -1);
  int counts[kMost], displs[kMost];
  for (int i = 0; i < others; ++i) {
    counts[i] = kCount;
    displs[i] = (others - 1 - i) * kCount;
  }
  put(out, 20);
  OK(MPI_Gatherv(out, kCount, MPI_INT, in, counts, displs, MPI_INT, root, inter));
  for (int i = 0; i < others && at_root; ++i) expect(in + displs[i], world_of_other(i), 20);
}

static void for_all(void) {
  int out[kMost * kCount], in[kMost * kCount], counts[kMost], sum[2], value[2] = {rank, 1};
  int expected = 0;
  put(out, 0);
  OK(MPI_Allgather(out, kCount, MPI_INT, in, kCount, MPI_INT, inter));
  for (int i = 0; i < others; ++i) expect(in + i * kCount, world_of_other(i), 0);
  for (int i = 0; i < others; ++i) put(out + i * kCount, 10 * i);
  OK(MPI_Alltoall(out, kCount, MPI_INT, in, kCount, MPI_INT, inter));
  for (int i = 0; i < others; ++i) expect(in + i * kCount, world_of_other(i), 10 * mine);
  for (int i = 0; i < others; ++i) expected += world_of_other(i);
  OK(MPI_Allreduce(value, sum, 2, MPI_INT, MPI_SUM, inter));
  CHECK(sum[0] == expected && sum[1] == others);
  for (int i = 0; i < members; ++i) counts[i] = others;
  for (int i = 0; i < members * others; ++i) out[i] = rank + i;
  OK(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter));
  for (int k = 0; k < others; ++k) CHECK_EQ(in[k], expected + others * (mine * others + k));
  memset(in, -1, sizeof in);
  OK(MPI_Reduce_scatter_block(out, in, others, MPI_INT, MPI_SUM, inter));
  for (int k = 0; k < others; ++k) CHECK_EQ(in[k], expected + others * (mine * others + k));
}

// f(a, b) = 10 a + b does not commute.
static void append(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) {
    const long long first = ((long long*)in)[2 * i], digits = ((long long*)in)[2 * i + 1];
    long long* second = (long long*)inout + 2 * i;
    second[0] += first * second[1];
    second[1] *= digits;
  }
}

static void in_order(void) {
  MPI_Datatype pair;
  MPI_Op op;
  long long value[2] = {1 + rank, 10}, result[2] = {0, 0}, expected = 0;
  OK(MPI_Type_contiguous(2, MPI_LONG_LONG, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Op_create(append, 0, &op));
  OK(MPI_Allreduce(value, result, 1, pair, op, inter));
  for (int i = 0; i < others; ++i) expected = expected * 10 + 1 + world_of_other(i);
  CHECK_EQ(result[0], expected);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&pair));
}

static void under_way(void) {
  MPI_Request requests[3], again;
  int sum = 0, all[kMost];
  OK(MPI_Ibarrier(inter, &requests[0]));
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, inter, &requests[1]));
  OK(MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(sum, world_of_other(others - 1));
  for (int i = 0; i < others; ++i) CHECK_EQ(all[i], world_of_other(i));
  OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_MIN, inter, MPI_INFO_NULL, &again));
  for (int round = 0; round < 3; ++round) {
    sum = -1;
    OK(MPI_Start(&again));
    OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
    CHECK_EQ(sum, world_of_other(0));
  }
  OK(MPI_Request_free(&again));
}

static void wrong(void) {
  int value = 0, result = 0;
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  FAILS(MPI_Scan(&value, &result, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  FAILS(MPI_Exscan(&value, &result, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  FAILS(MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
  FAILS(MPI_Bcast(&value, 1, MPI_INT, others, inter), MPI_ERR_ROOT);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm own;
  side = rank % 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &own));
  OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
  OK(MPI_Comm_rank(inter, &mine));
  OK(MPI_Comm_size(inter, &members));
  OK(MPI_Comm_remote_size(inter, &others));
  OK(MPI_Barrier(inter));
  for (int of = 0; of < 2; ++of) rooted(of);
  for_all();
  in_order();
  under_way();
  wrong();
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&own));
  return end();
}
