// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE on one rank: a single thread, then two. A bound thread sends 8 B messages to
// itself on its own communicator. Rates are of all threads together.
#define BENCH_THREAD_LEVEL MPI_THREAD_MULTIPLE
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kMostThreads = 2, kBatch = 1000 };

typedef struct {
  MPI_Comm comm;
  int core;
  double seconds;
  atomic_int* ready;
  int threads;
  double rate;
} Worker;

static void bind_thread(int core) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)(core % cores), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("bench: sched_setaffinity");
}

static void batch(const Worker* worker) {
  long out = 1, in = 0;
  for (int i = 0; i < kBatch; ++i) {
    MPI_Request receive;
    MPI_Irecv(&in, 1, MPI_LONG, 0, 0, worker->comm, &receive);
    MPI_Send(&out, 1, MPI_LONG, 0, 0, worker->comm);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  if (in != out) abort();
}

static void* work(void* state) {
  Worker* worker = state;
  bind_thread(worker->core);
  batch(worker);
  atomic_fetch_add(worker->ready, 1);
  while (atomic_load(worker->ready) < worker->threads) sched_yield();
  const double begin = MPI_Wtime();
  double end = begin;
  long batches = 0;
  for (; end - begin < worker->seconds; ++batches, end = MPI_Wtime()) batch(worker);
  worker->rate = (double)batches * kBatch / (end - begin);
  return NULL;
}

static double rate_of(int threads, const MPI_Comm* comms, double seconds) {
  pthread_t handles[kMostThreads];
  Worker workers[kMostThreads];
  atomic_int ready = 0;
  for (int i = 0; i < threads; ++i) {
    workers[i] = (Worker){
        .comm = comms[i], .core = i, .seconds = seconds, .ready = &ready, .threads = threads};
    if (pthread_create(&handles[i], NULL, work, &workers[i]) != 0) abort();
  }
  double rate = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(handles[i], NULL);
    rate += workers[i].rate;
  }
  return rate / 1e6;
}

static int by_value(const void* a, const void* b) { return bench_by_value(a, b); }

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 8);
  MPI_Comm comms[kMostThreads];
  for (int i = 0; i < kMostThreads; ++i) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
  enum { kRounds = 9 };
  double one[kRounds], two[kRounds], gain[kRounds];
  for (int i = 0; i < kRounds; ++i) {
    one[i] = rate_of(1, comms, bench.seconds / kRounds);
    two[i] = rate_of(2, comms, bench.seconds / kRounds);
    gain[i] = two[i] / one[i];
  }
  qsort(one, kRounds, sizeof *one, by_value);
  qsort(two, kRounds, sizeof *two, by_value);
  qsort(gain, kRounds, sizeof *gain, by_value);
  bench_report(&bench, "threads_1", 8, one[kRounds / 2], "M/s");
  bench_report(&bench, "threads_2", 8, two[kRounds / 2], "M/s");
  bench_report(&bench, "threads_gain", 8, gain[kRounds / 2], "x");
  for (int i = 0; i < kMostThreads; ++i) MPI_Comm_free(&comms[i]);
  return bench_close();
}
