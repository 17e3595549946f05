// SPDX-License-Identifier: Apache-2.0
// MPI_Type_create_f90_* returns the same type to all threads, also in concurrent first calls.
// ranks: singleton 1
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { kAsking = 3, kChurning = 2, kRanges = 290 };

static MPI_Datatype given[kAsking][3];
static pthread_barrier_t meeting;
static atomic_int asked_all;

static void ask(int range, MPI_Datatype* types) {
  OK(MPI_Type_create_f90_real(MPI_UNDEFINED, range, &types[0]));
  OK(MPI_Type_create_f90_complex(15, range, &types[1]));
  OK(MPI_Type_create_f90_integer(range % 39, &types[2]));
}

static void* asks(void* argument) {
  const int id = *(int*)argument;
  for (int range = 1; range <= kRanges; ++range) {
    int bytes = -1;
    pthread_barrier_wait(&meeting);
    ask(range, given[id]);
    OK(MPI_Type_size(given[id][0], &bytes));
    CHECK_EQ(bytes, range <= 37 ? 4 : 8);
    pthread_barrier_wait(&meeting);
    for (int other = 0; other < kAsking; ++other)
      CHECK(memcmp(given[id], given[other], sizeof given[id]) == 0);
  }
  return NULL;
}

static void* churns(void* unused) {
  while (!atomic_load(&asked_all)) {
    MPI_Datatype inner, outer;
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &inner));
    OK(MPI_Type_contiguous(3, inner, &outer));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_free(&outer));
  }
  return unused;
}

int main(int argc, char** argv) {
  int provided = -1, ids[kAsking];
  pthread_t threads[kAsking + kChurning];
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(pthread_barrier_init(&meeting, NULL, kAsking) == 0);
  for (int i = 0; i < kAsking; ++i) {
    ids[i] = i;
    CHECK(pthread_create(&threads[i], NULL, asks, &ids[i]) == 0);
  }
  for (int i = 0; i < kChurning; ++i)
    CHECK(pthread_create(&threads[kAsking + i], NULL, churns, NULL) == 0);
  for (int i = 0; i < kAsking; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  atomic_store(&asked_all, 1);
  for (int i = 0; i < kChurning; ++i) CHECK(pthread_join(threads[kAsking + i], NULL) == 0);
  return end();
}
