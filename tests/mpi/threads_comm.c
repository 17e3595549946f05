// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: threads create communicators from one parent, probe, and complete requests
// of other threads.
// ranks: 1 2 4
// timeout: 120
#include <pthread.h>

#include "check.h"

enum { kThreads = 4 };

static MPI_Group world;
static MPI_Request handed[kThreads];
static pthread_barrier_t meeting;

static void run(void* (*function)(void*)) {
  pthread_t threads[kThreads];
  static int ids[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    ids[i] = i;
    CHECK(pthread_create(&threads[i], NULL, function, &ids[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// Concurrent calls are legal with different tags.
static void* create_groups(void* argument) {
  const int id = *(int*)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < 200; ++round) {
    MPI_Comm comm;
    const int out = id * 1000 + round;
    int in = -1;
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, world, id, &comm));
    OK(MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(in, out);
    OK(MPI_Comm_free(&comm));
  }
  return NULL;
}

static void* hand_over(void* argument) {
  const int id = *(int*)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
  static int in[kThreads], out[kThreads];
  for (int round = 0; round < 50; ++round) {
    out[id] = round * 10 + id;
    in[id] = -1;
    OK(MPI_Irecv(&in[id], 1, MPI_INT, left, 100 + id, MPI_COMM_WORLD, &handed[id]));
    OK(MPI_Send(&out[id], 1, MPI_INT, right, 100 + id, MPI_COMM_WORLD));
    pthread_barrier_wait(&meeting);
    const int other = (id + 1) % kThreads;
    OK(MPI_Wait(&handed[other], MPI_STATUS_IGNORE));
    CHECK_EQ(in[other], round * 10 + other);
    pthread_barrier_wait(&meeting);
  }
  return NULL;
}

static void* probes(void* argument) {
  const int id = *(int*)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
  static const int sizes[] = {1, 300, 9000, 70000};
  char* buffer = malloc(70000);
  for (int round = 0; round < 100; ++round) {
    const int bytes = sizes[round % 4], tag = 200 + id / 2;
    if (id % 2 == 0) {
      fill(buffer, (size_t)bytes, (unsigned)round);
      OK(MPI_Send(buffer, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD));
    } else {
      MPI_Status status;
      OK(MPI_Probe(left, tag, MPI_COMM_WORLD, &status));
      check_status(&status, left, tag, MPI_BYTE, bytes);
      OK(MPI_Recv(buffer, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
      CHECK_FILLED(buffer, (size_t)bytes, (unsigned)round);
    }
  }
  free(buffer);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK(pthread_barrier_init(&meeting, NULL, kThreads) == 0);
  run(create_groups);
  run(hand_over);
  run(probes);
  OK(MPI_Group_free(&world));
  return end();
}
