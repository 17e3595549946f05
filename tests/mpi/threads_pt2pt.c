// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: four threads per rank, on different tags and on different communicators.
// ranks: 1 2 4
// timeout: 120
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 300 };

struct Worker {
  int id;
  MPI_Comm comm;
  int tag;
};

static void exchange(const struct Worker* self, int bytes, char* out, char* in, unsigned round) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const unsigned salt = (unsigned)self->id * 1000 + round;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill(out, (size_t)bytes, salt + (unsigned)rank * 7);
  if (round % 3 == 0) {
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, self->tag, in, bytes, MPI_BYTE, left, self->tag,
                    self->comm, &statuses[0]));
  } else {
    OK(MPI_Irecv(in, bytes, MPI_BYTE, left, self->tag, self->comm, &requests[0]));
    OK(MPI_Isend(out, bytes, MPI_BYTE, right, self->tag, self->comm, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
  }
  check_status(&statuses[0], left, self->tag, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, salt + (unsigned)left * 7);
}

static void* work(void* argument) {
  static const int sizes[] = {0, 8, 100, 5000, 8193, 40000, 200000};
  const struct Worker* self = argument;
  char *out = malloc(200000), *in = malloc(200000);
  for (unsigned round = 0; round < kRounds; ++round)
    exchange(self, sizes[(round + (unsigned)self->id) % 7], out, in, round);
  free(out);
  free(in);
  return NULL;
}

static void run(struct Worker* workers, void* (*function)(void*)) {
  pthread_t threads[kThreads];
  for (int i = 1; i < kThreads; ++i)
    CHECK(pthread_create(&threads[i], NULL, function, &workers[i]) == 0);
  function(&workers[0]);
  for (int i = 1; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void* make_communicators(void* argument) {
  const struct Worker* self = argument;
  for (unsigned round = 0; round < 30; ++round) {
    struct Worker child = *self;
    char out[64], in[64];
    if (round % 2)
      OK(MPI_Comm_dup(self->comm, &child.comm));
    else
      OK(MPI_Comm_split(self->comm, 0, rank, &child.comm));
    exchange(&child, 64, out, in, round);
    OK(MPI_Comm_free(&child.comm));
  }
  return NULL;
}

// A waiting thread must not block the other threads of its rank.
static void* chain(void* argument) {
  const struct Worker* self = argument;
  int value = -1;
  for (int round = 0; round < 20000; ++round) {
    if (self->id > 0) {
      OK(MPI_Recv(&value, 1, MPI_INT, rank, 100 + self->id, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(value, round);
    }
    if (self->id + 1 < kThreads)
      OK(MPI_Send(&round, 1, MPI_INT, rank, 101 + self->id, MPI_COMM_WORLD));
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  struct Worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) workers[i] = (struct Worker){i, MPI_COMM_WORLD, 10 + i};
  run(workers, work);
  run(workers, chain);
  for (int i = 0; i < kThreads; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm));
    workers[i].tag = 1;
  }
  run(workers, work);
  run(workers, make_communicators);
  for (int i = 0; i < kThreads; ++i) OK(MPI_Comm_free(&workers[i].comm));
  return end();
}
