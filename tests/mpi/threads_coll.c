// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: concurrent threads run all kinds of collectives on separate communicators,
// also short-lived.
// ranks: 1 2 4
// timeout: 120
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 150, kMost = 3000, kMostRanks = 16 };

static MPI_Comm all[kThreads], pairs[kThreads];

struct Work {
  int id, round, me, n, count;
  MPI_Comm comm;
  int *in, *out;
};

static int value(const struct Work* w, int from, long i) {
  return from * 100003 + w->id * 10007 + w->round * 31 + (int)i;
}
static int sum(const struct Work* w, int ranks, long i) {
  int total = 0;
  for (int r = 0; r < ranks; ++r) total += value(w, r, i);
  return total;
}
static void expect(const struct Work* w, long place, int wanted, const char* what) {
  if (w->out[place] != wanted)
    FAIL("thread %d, round %d: %s of %d on %d ranks: element %ld is %d, expected %d", w->id,
         w->round, what, w->count, w->n, place, w->out[place], wanted);
}

static void one_by_one(struct Work* w) {
  const int c = w->count, root = w->round % w->n;
  OK(MPI_Barrier(w->comm));
  OK(MPI_Allreduce(w->in, w->out, c, MPI_INT, MPI_SUM, w->comm));
  for (int i = 0; i < c; ++i) expect(w, i, sum(w, w->n, i), "allreduce");
  OK(MPI_Allgather(w->in, c, MPI_INT, w->out, c, MPI_INT, w->comm));
  for (int i = 0; i < c * w->n; ++i) expect(w, i, value(w, i / c, i % c), "allgather");
  OK(MPI_Alltoall(w->in, c, MPI_INT, w->out, c, MPI_INT, w->comm));
  for (int i = 0; i < c * w->n; ++i) expect(w, i, value(w, i / c, w->me * c + i % c), "alltoall");
  memcpy(w->out, w->in, sizeof(int) * (size_t)c);
  OK(MPI_Bcast(w->out, c, MPI_INT, root, w->comm));
  for (int i = 0; i < c; ++i) expect(w, i, value(w, root, i), "bcast");
  OK(MPI_Reduce(w->in, w->out, c, MPI_INT, MPI_SUM, root, w->comm));
  for (int i = 0; i < c && w->me == root; ++i) expect(w, i, sum(w, w->n, i), "reduce");
  OK(MPI_Scan(w->in, w->out, c, MPI_INT, MPI_SUM, w->comm));
  for (int i = 0; i < c; ++i) expect(w, i, sum(w, w->me + 1, i), "scan");
}

static void at_once(struct Work* w) {
  const int c = w->count, root = w->round % w->n;
  MPI_Request requests[4];
  int* out = w->out;
  OK(MPI_Iallreduce(w->in, out, c, MPI_INT, MPI_SUM, w->comm, &requests[0]));
  OK(MPI_Ibarrier(w->comm, &requests[1]));
  OK(MPI_Igather(w->in, c, MPI_INT, out + c, c, MPI_INT, root, w->comm, &requests[2]));
  OK(MPI_Ireduce_scatter_block(w->in, out + (w->n + 1) * c, c, MPI_INT, MPI_SUM, w->comm,
                               &requests[3]));
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < c; ++i) expect(w, i, sum(w, w->n, i), "iallreduce");
  for (int i = 0; i < c * w->n && w->me == root; ++i)
    expect(w, c + i, value(w, i / c, i % c), "igather");
  for (int i = 0; i < c; ++i)
    expect(w, (w->n + 1) * c + i, sum(w, w->n, w->me * c + i), "ireduce_scatter_block");
}

static void persistent(struct Work* w) {
  MPI_Request request;
  OK(MPI_Allreduce_init(w->in, w->out, w->count, MPI_INT, MPI_SUM, w->comm, MPI_INFO_NULL,
                        &request));
  for (int again = 0; again < 3; ++again) {
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < w->count; ++i) expect(w, i, sum(w, w->n, i), "persistent allreduce");
  }
  OK(MPI_Request_free(&request));
}

static void on(MPI_Comm comm, struct Work* w) {
  w->comm = comm;
  OK(MPI_Comm_rank(comm, &w->me));
  OK(MPI_Comm_size(comm, &w->n));
  for (int i = 0; i < kMost * w->n; ++i) w->in[i] = value(w, w->me, i);
  one_by_one(w);
  if (w->round % 3 == 0) at_once(w);
  if (w->round % 10 == 0) persistent(w);
}

static void* work(void* id) {
  struct Work w = {.id = *(int*)id};
  w.in = malloc(sizeof(int) * kMost * kMostRanks);
  w.out = malloc(sizeof(int) * kMost * (kMostRanks + 2));
  CHECK(w.in != NULL && w.out != NULL);
  for (w.round = 0; w.round < kRounds; ++w.round) {
    w.count = w.round % 30 == 29 ? kMost : 1 + w.round % 7;
    on(all[w.id], &w);
    on(pairs[w.id], &w);
    if (w.round % 5 != 0) continue;
    MPI_Comm made;
    OK(MPI_Comm_dup(pairs[w.id], &made));
    on(made, &w);
    OK(MPI_Comm_free(&made));
  }
  free(w.in);
  free(w.out);
  return NULL;
}

int main(int argc, char** argv) {
  int level, ids[kThreads];
  pthread_t threads[kThreads];
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size <= kMostRanks);
  for (int t = 0; t < kThreads; ++t) {
    ids[t] = t;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &all[t]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs[t]));
  }
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_create(&threads[t], NULL, work, &ids[t]) == 0);
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  for (int t = 0; t < kThreads; ++t) {
    OK(MPI_Comm_free(&all[t]));
    OK(MPI_Comm_free(&pairs[t]));
  }
  return end();
}
