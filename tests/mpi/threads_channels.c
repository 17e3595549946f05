// SPDX-License-Identifier: Apache-2.0
// Ranks with different thread levels and numbers of channels exchange data. A wait on one channel
// does not block the others.
// cflags: -pthread
// ranks: 1 2 3 4
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kComms = 9, kLarge = 300000, kThreads = 4, kRounds = 200 };

static int rank, size, level, failures;
static MPI_Comm comms[kComms];

static void expect(int good, const char* what, int which) {
  if (good) return;
  fprintf(stderr, "rank %d, communicator %d: %s\n", rank, which, what);
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

static int value_of(int from, int comm, int i) { return from * 1000003 + comm * 1009 + i; }

static int* numbers(int count, int from, int comm) {
  int* made = malloc((size_t)count * sizeof *made);
  for (int i = 0; i < count; ++i) made[i] = value_of(from, comm, i);
  return made;
}

static int right(const int* data, int count, int from, int comm) {
  for (int i = 0; i < count; ++i)
    if (data[i] != value_of(from, comm, i)) return 0;
  return 1;
}

static void all_at_once(int count, int by_any) {
  const int each = kComms * size;
  MPI_Request* requests = malloc(2 * (size_t)each * sizeof *requests);
  int **out = malloc((size_t)each * sizeof *out), **in = malloc((size_t)each * sizeof *in);
  for (int c = 0; c < kComms; ++c)
    for (int peer = 0; peer < size; ++peer) {
      const int at = c * size + peer;
      out[at] = numbers(count, rank, c);
      in[at] = calloc((size_t)count, sizeof(int));
      MPI_Irecv(in[at], count, MPI_INT, peer, c, comms[c], &requests[at]);
    }
  for (int c = kComms - 1; c >= 0; --c)
    for (int peer = 0; peer < size; ++peer)
      MPI_Isend(out[c * size + peer], count, MPI_INT, peer, c, comms[c],
                &requests[each + c * size + peer]);
  if (by_any) {
    int index;
    for (int i = 0; i < 2 * each; ++i) MPI_Waitany(2 * each, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2 * each, requests, &index, MPI_STATUS_IGNORE);
    expect(index == MPI_UNDEFINED, "more requests than there were", -1);
  } else {
    MPI_Waitall(2 * each, requests, MPI_STATUSES_IGNORE);
  }
  for (int c = 0; c < kComms; ++c)
    for (int peer = 0; peer < size; ++peer) {
      expect(right(in[c * size + peer], count, peer, c), "wrong data", c);
      free(in[c * size + peer]);
      free(out[c * size + peer]);
    }
  free(in), free(out), free(requests);
}

// A large message needs progress of a sender waiting elsewhere.
static void waits_elsewhere(void) {
  for (int c = 0; c < kComms; ++c) {
    const int other = (c + 1) % kComms, next = (rank + 1) % size, last = (rank + size - 1) % size;
    int* out = numbers(kLarge, rank, c);
    int* in = calloc(kLarge, sizeof *in);
    MPI_Request request;
    MPI_Isend(out, kLarge, MPI_INT, next, 1, comms[c], &request);
    if (size > 1 && rank % 2 == 0) MPI_Barrier(comms[other]);
    MPI_Status status;
    if (size > 1 && rank % 2 == 1) {
      MPI_Probe(last, 1, comms[c], &status);
      MPI_Recv(in, kLarge, MPI_INT, last, 1, comms[c], MPI_STATUS_IGNORE);
      MPI_Barrier(comms[other]);
    } else {
      MPI_Recv(in, kLarge, MPI_INT, last, 1, comms[c], MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(right(in, kLarge, last, c), "wrong data of a large message", c);
    free(out), free(in);
  }
}

static void* exchange_by_thread(void* which) {
  const int c = (int)(long)which, peer = 1 - rank;
  for (int i = 0; i < kRounds; ++i) {
    const int count = i % 10 == 9 ? 20000 : i;
    int* out = numbers(count, rank, c);
    int* in = calloc((size_t)count + 1, sizeof *in);
    MPI_Sendrecv(out, count, MPI_INT, peer, i, in, count, MPI_INT, peer, i, comms[c],
                 MPI_STATUS_IGNORE);
    expect(right(in, count, peer, c), "wrong data of a thread", c);
    int sum = 0;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comms[c]);
    expect(sum == 2 * i, "wrong sum of a thread", c);
    free(out), free(in);
  }
  return NULL;
}

static void threads_side_by_side(void) {
  if (size != 2 || level != MPI_THREAD_MULTIPLE) return;
  pthread_t threads[kThreads];
  for (long t = 0; t < kThreads; ++t)
    pthread_create(&threads[t], NULL, exchange_by_thread, (void*)t);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
}

// Groups create different numbers of inter-communicators, counted per pair of groups.
static void sides(void) {
  if (size != 4) return;
  static const int groups[3][2] = {{0, 1}, {2, 2}, {3, 3}};
  MPI_Group world, sets[3];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < 3; ++i) MPI_Group_incl(world, i == 0 ? 2 : 1, groups[i], &sets[i]);
  const int mine = rank < 2 ? 0 : rank - 1;
  for (int other = 1; other < 3; ++other) {
    if (mine != 0 && mine != other) continue;
    MPI_Comm inter;
    MPI_Intercomm_create_from_groups(sets[mine], 0, sets[mine == 0 ? other : 0], 0, "sides",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    expect(sum == (mine == 0 ? other + 1 : 1), "wrong sum of the other side", other);
    MPI_Comm_free(&inter);
  }
  for (int i = 0; i < 3; ++i) MPI_Group_free(&sets[i]);
  MPI_Group_free(&world);
}

int main(void) {
  // With MIXED_LEVELS only odd ranks request threads.
  const char* launched = getenv("PMIX_RANK");
  const int own = launched == NULL ? 0 : atoi(launched);
  const char* mixed = getenv("MIXED_LEVELS");
  const int wanted = mixed != NULL && own % 2 == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  MPI_Init_thread(NULL, NULL, wanted, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int c = 0; c < kComms; ++c) MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
  for (int by_any = 0; by_any < 2; ++by_any) {
    all_at_once(1, by_any);
    all_at_once(5000, by_any);
    all_at_once(50000, by_any);
  }
  waits_elsewhere();
  sides();
  if (mixed == NULL) threads_side_by_side();
  for (int c = 0; c < kComms; ++c) MPI_Comm_free(&comms[c]);
  MPI_Finalize();
  return failures != 0;
}
