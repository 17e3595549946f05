// SPDX-License-Identifier: Apache-2.0
// Many collectives in flight on overlapping communicators, with messages, completed in random
// order.
// ranks: 1 2 3 4 5 8
// timeout: 120
#include "check.h"

enum { kRounds = 20, kOps = 24, kMost = 3000 };

static unsigned state = 12345;
static unsigned shared_random(void) {  // equal on all ranks
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

struct Started {
  int kind, count, root, comm;
  long *in, *out;
};

static void start(struct Started* op, MPI_Comm comm, MPI_Request* request) {
  int me, n;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &n));
  op->in = malloc(sizeof(long) * (size_t)(op->count * n + 1));
  op->out = malloc(sizeof(long) * (size_t)(op->count * n + 1));
  for (int i = 0; i < op->count * n; ++i) op->in[i] = me * 100000L + i;
  if (op->kind == 0)
    OK(MPI_Iallreduce(op->in, op->out, op->count, MPI_LONG, MPI_SUM, comm, request));
  if (op->kind == 1) {
    for (int i = 0; i < op->count; ++i) op->out[i] = op->in[i];
    OK(MPI_Ibcast(op->out, op->count, MPI_LONG, op->root % n, comm, request));
  }
  if (op->kind == 2)
    OK(MPI_Iallgather(op->in, op->count, MPI_LONG, op->out, op->count, MPI_LONG, comm, request));
  if (op->kind == 3)
    OK(MPI_Ialltoall(op->in, op->count, MPI_LONG, op->out, op->count, MPI_LONG, comm, request));
  if (op->kind == 4) OK(MPI_Ibarrier(comm, request));
}

static void verify(struct Started* op, MPI_Comm comm) {
  int me, n;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &n));
  for (int i = 0; i < op->count; ++i) {
    if (op->kind == 0) CHECK_EQ(op->out[i], n * (n - 1) / 2 * 100000L + (long)n * i);
    if (op->kind == 1) CHECK_EQ(op->out[i], op->root % n * 100000L + i);
    for (int r = 0; r < n; ++r) {
      if (op->kind == 2) CHECK_EQ(op->out[r * op->count + i], r * 100000L + i);
      if (op->kind == 3) CHECK_EQ(op->out[r * op->count + i], r * 100000L + me * op->count + i);
    }
  }
  free(op->in);
  free(op->out);
}

static void mixed(const MPI_Comm* comms, int comm_count) {
  struct Started ops[kOps];
  MPI_Request requests[kOps + 2];
  int mine = 0, sent = rank, got = -1;
  OK(MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[kOps]));
  for (int i = 0; i < kOps; ++i) {
    const struct Started next = {
        (int)(shared_random() % 5),
        (int)(shared_random() % 3 == 0 ? shared_random() % kMost : shared_random() % 9),
        (int)(shared_random() % 100),
        (int)(shared_random() % (unsigned)comm_count),
        NULL,
        NULL};
    requests[mine] = MPI_REQUEST_NULL;
    if (comms[next.comm] == MPI_COMM_NULL) continue;
    ops[mine] = next;
    start(&ops[mine], comms[next.comm], &requests[mine]);
    ++mine;
  }
  OK(MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[kOps + 1]));
  for (int left = mine; left > 0; --left) {
    int index = -1;
    if (left % 3 == 0) {
      index = mine - 1;
      while (requests[index] == MPI_REQUEST_NULL) --index;
      OK(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Waitany(mine, requests, &index, MPI_STATUS_IGNORE));
    }
    verify(&ops[index], comms[ops[index].comm]);
  }
  OK(MPI_Waitall(2, &requests[kOps], MPI_STATUSES_IGNORE));
  CHECK_EQ(got, (rank + size - 1) % size);
}

static void persistent(void) {
  long sum_in, sum_out, data[4] = {0};
  MPI_Request requests[3];
  OK(MPI_Allreduce_init(&sum_in, &sum_out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[0]));
  OK(MPI_Bcast_init(data, 4, MPI_LONG, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  for (int round = 0; round < 50; ++round) {
    sum_in = rank + round;
    for (int i = 0; i < 4; ++i) data[i] = rank == size - 1 ? round * 10 + i : -1;
    OK(MPI_Startall(3, requests));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(sum_out, size * (size - 1) / 2 + (long)size * round);
    for (int i = 0; i < 4; ++i) CHECK_EQ(data[i], round * 10 + i);
  }
  for (int i = 0; i < 3; ++i) OK(MPI_Request_free(&requests[i]));
}

static void persistent_in_any_order(void) {
  enum { kMade = 4 };
  int values[kMade], sum;
  MPI_Request requests[kMade], barrier;
  for (int i = 0; i < kMade; ++i)
    OK(MPI_Bcast_init(&values[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[i]));
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < kMade; ++i) values[i] = rank == i % size ? 100 * i + round : -1;
    for (int i = 0; i < kMade; ++i) {
      OK(MPI_Start(&requests[(i + rank + round) % kMade]));
      if (i != 1) continue;
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
      OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK_EQ(sum, size * (size - 1) / 2);
    }
    OK(MPI_Waitall(kMade, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
    for (int i = 0; i < kMade; ++i) CHECK_EQ(values[i], 100 * i + round);
  }
  for (int i = 0; i < kMade; ++i) OK(MPI_Request_free(&requests[i]));
}

static void barriers(void) {
  for (int round = 0; round < 20; ++round) {
    const int late = round % size;
    double entered, left;
    if (rank == late)
      for (const double until = MPI_Wtime() + 0.002; MPI_Wtime() < until;) continue;
    entered = MPI_Wtime();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    left = MPI_Wtime();
    OK(MPI_Bcast(&entered, 1, MPI_DOUBLE, late, MPI_COMM_WORLD));
    if (left < entered)
      FAIL("left the barrier %g s before rank %d entered it", entered - left, late);
  }
}

int main(int argc, char** argv) {
  MPI_Comm comms[5];
  begin(&argc, &argv);
  comms[0] = MPI_COMM_WORLD;
  comms[4] = MPI_COMM_SELF;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[2]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2 ? 0 : MPI_UNDEFINED, rank, &comms[3]));
  for (int round = 0; round < kRounds; ++round) mixed(comms, 5);
  persistent();
  persistent_in_any_order();
  barriers();
  MPI_Request request;
  OK(MPI_Ibarrier(comms[1], &request));
  OK(MPI_Comm_free(&comms[1]));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&comms[2]));
  if (comms[3] != MPI_COMM_NULL) OK(MPI_Comm_free(&comms[3]));
  return end();
}
