// SPDX-License-Identifier: Apache-2.0
// TERN_COLL_TUNE=learn under random programs, with duplicates and refused calls. Sums of doubles
// keep the bits of the first call. SEED=number selects a program.
// ranks: 2 3 4 6
// env: TERN_COLL_TUNE=learn
// variant: threads
//   ranks: 2 4
//   args: 3
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMost = 20000, kSpans = 5, kCalls = 1500, kMostThreads = 8 };
static const int kLengths[kSpans] = {1, 30, 700, 6000, kMost};

static _Thread_local uint32_t state;
static uint32_t draw(uint32_t below) {  // equal on all ranks
  state = state * 1664525U + 1013904223U;
  return (state >> 8) % below;
}

typedef struct {
  MPI_Comm comm;
  int mine, ranks;
  double* first[kSpans];
} Shape;

static _Thread_local double *from, *to;
static _Thread_local int *ints, *sums;

static double value(int of, int i) { return 1.0 / (of + 3) + 1e-7 * i; }

static void add(const Shape* s, int which) {
  const int n = kLengths[which];
  for (int i = 0; i < n; ++i) from[i] = value(s->mine, i);
  MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, s->comm);
  double want = 0;
  for (int r = 0; r < s->ranks; ++r) want += value(r, n - 1);
  CHECK(to[n - 1] - want < 1e-9 && want - to[n - 1] < 1e-9);
  if (s->first[which] == NULL) return;
  if (s->first[which][0] == 0) memcpy(s->first[which], to, (size_t)n * sizeof *to);
  CHECK(memcmp(s->first[which], to, (size_t)n * sizeof *to) == 0);
}

static void add_ints(const Shape* s, int n, int root) {
  for (int i = 0; i < n; ++i) ints[i] = s->mine + i;
  memset(sums, 0, (size_t)n * sizeof *sums);
  MPI_Reduce(ints, sums, n, MPI_INT, MPI_SUM, root, s->comm);
  for (int i = 0; i < n && s->mine == root; ++i)
    CHECK(sums[i] == s->ranks * i + s->ranks * (s->ranks - 1) / 2);
}

static void move(const Shape* s, int n, int root) {
  for (int i = 0; i < n; ++i) ints[i] = s->mine == root ? root + i : -1;
  MPI_Bcast(ints, n, MPI_INT, root, s->comm);
  for (int i = 0; i < n; ++i) CHECK(ints[i] == root + i);
}

static void gather(const Shape* s, int n) {
  n = n / s->ranks + 1;
  for (int i = 0; i < n; ++i) ints[i] = s->mine * 7 + i;
  MPI_Allgather(ints, n, MPI_INT, sums, n, MPI_INT, s->comm);
  for (int r = 0; r < s->ranks; ++r)
    for (int i = 0; i < n; ++i) CHECK(sums[r * n + i] == r * 7 + i);
}

static void exchange(const Shape* s, int n) {
  n = n / s->ranks + 1;
  for (int i = 0; i < n * s->ranks; ++i) ints[i] = s->mine * 100 + i / n;
  MPI_Alltoall(ints, n, MPI_INT, sums, n, MPI_INT, s->comm);
  for (int r = 0; r < s->ranks; ++r) CHECK(sums[r * n + n - 1] == r * 100 + s->mine);
}

static void at_once(const Shape* s, int n) {
  MPI_Request requests[3];
  int in[3] = {s->mine, 1, 2}, out[3];
  for (int i = 0; i < n; ++i) ints[i] = 1;
  MPI_Iallreduce(ints, sums, n, MPI_INT, MPI_SUM, s->comm, &requests[0]);
  MPI_Iallreduce(in, out, 3, MPI_INT, MPI_SUM, s->comm, &requests[1]);
  MPI_Ibarrier(s->comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(out[1] == s->ranks && sums[n - 1] == s->ranks);
}

static void step(const Shape* s) {
  const int which = (int)draw(kSpans), n = kLengths[which], root = (int)draw((uint32_t)s->ranks);
  switch (draw(7)) {
    case 0:
      return add(s, which);
    case 1:
      return add_ints(s, n, root);
    case 2:
      return move(s, n, root);
    case 3:
      return gather(s, n);
    case 4:
      return exchange(s, n);
    case 5:
      return at_once(s, n);
    default:
      MPI_Barrier(s->comm);
  }
}

static Shape shape_of(MPI_Comm comm, int keeps) {
  Shape s = {comm, 0, 0, {NULL}};
  MPI_Comm_rank(comm, &s.mine);
  MPI_Comm_size(comm, &s.ranks);
  for (int i = 0; i < kSpans && keeps; ++i)
    s.first[i] = calloc((size_t)kLengths[i], sizeof(double));
  return s;
}

// A victim's wrong count ends the collectives on all ranks. If all counts are wrong, the
// communicator stays usable.
static void refuse(const Shape* s, int victim) {
  const int wrong = victim < 0 || s->mine == victim, n = kLengths[draw(kSpans)];
  MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
  int code = MPI_Allreduce(ints, sums, wrong ? -1 : n, MPI_INT, MPI_SUM, s->comm);
  CHECK_EQ(class_of(code), wrong ? MPI_ERR_COUNT : MPI_ERR_OTHER);
  if (victim >= 0 && s->ranks > 1)
    for (code = MPI_SUCCESS; code == MPI_SUCCESS;) code = MPI_Barrier(s->comm);
  MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_ARE_FATAL);
}

static void use_twin(const Shape* of, int round) {
  MPI_Comm twin, third;
  MPI_Comm_dup(of->comm, &twin);
  Shape s = shape_of(twin, 0);
  for (int call = 0; call < 100; ++call) step(&s);
  if (round % 3 != 0) {
    refuse(&s, round % 3 == 1 ? (int)draw((uint32_t)s.ranks) : -1);
    if (round % 3 == 1) {
      MPI_Comm_dup(twin, &third);
      MPI_Comm_free(&twin);
      twin = s.comm = third;
    }
    for (int call = 0; call < 100; ++call) step(&s);
  }
  MPI_Comm_free(&twin);
}

static void program(MPI_Comm comm, uint32_t seed) {
  Shape shapes[2] = {shape_of(comm, 1)};
  MPI_Comm half;
  MPI_Comm_split(comm, shapes[0].mine % 2, 0, &half);
  shapes[1] = shape_of(half, 1);
  from = malloc(kMost * sizeof *from);
  to = malloc(kMost * sizeof *to);
  ints = malloc((kMost + 64) * sizeof *ints);
  sums = malloc((kMost + 64) * sizeof *sums);
  state = seed;
  for (int call = 0; call < kCalls; ++call) step(&shapes[draw(4) == 0]);
  for (int round = 0; round < 6; ++round) use_twin(&shapes[round % 2], round);
  for (int call = 0; call < 300; ++call) add(&shapes[0], 2);
  for (int call = 0; call < 300; ++call) add(&shapes[0], 3);
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < kSpans; ++i) free(shapes[k].first[i]);
  free(from), free(to), free(ints), free(sums);
  MPI_Comm_free(&half);
}

static uint32_t seed;
static MPI_Comm worlds[kMostThreads];

static void* run_thread(void* number) {
  program(worlds[(intptr_t)number], seed + (uint32_t)(intptr_t)number);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t started[kMostThreads];
  seed = getenv("SEED") ? (uint32_t)atoi(getenv("SEED")) : 17;
  if (threads == 0) {
    begin(&argc, &argv);
    program(MPI_COMM_WORLD, seed);
    return end();
  }
  begin_with_threads(&argc, &argv);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &worlds[i]);
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&started[i], NULL, run_thread, (void*)(intptr_t)i) == 0);
  for (int i = 0; i < threads; ++i) {
    CHECK(pthread_join(started[i], NULL) == 0);
    MPI_Comm_free(&worlds[i]);
  }
  return end();
}
