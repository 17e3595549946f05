// SPDX-License-Identifier: Apache-2.0
// One-sided communication: rank 0 works on the next rank's part of an allocated window while the
// next rank waits. Figures: rma_put, rma_get (8 B to 4 MiB, with a flush each), rma_put_many (8 B,
// 100 to a flush), rma_fetch_and_op, rma_compare_and_swap, rma_accumulate (doubles), rma_lock
// (lock, put, unlock), the same of all ranks at once (rma_contend_...), rma_fence, rma_pscw,
// rma_create. On the program's memory: rma_created_put, rma_created_fetch_and_op, and the latter
// while the target computes (rma_busy_fetch_and_op).
#include "bench.h"

typedef struct {
  const Bench* bench;
  MPI_Win window;
  MPI_Group all;
  int target;
  size_t size;
  double* buffer;
} State;

enum { kLargest = 4 << 20, kMany = 100 };

static void put(void* of, long iterations) {
  const State* s = of;
  for (long i = 0; i < iterations && s->bench->rank == 0; ++i) {
    MPI_Put(s->buffer, (int)s->size, MPI_BYTE, s->target, 0, (int)s->size, MPI_BYTE, s->window);
    MPI_Win_flush(s->target, s->window);
  }
}

static void get(void* of, long iterations) {
  const State* s = of;
  for (long i = 0; i < iterations && s->bench->rank == 0; ++i) {
    MPI_Get(s->buffer, (int)s->size, MPI_BYTE, s->target, 0, (int)s->size, MPI_BYTE, s->window);
    MPI_Win_flush(s->target, s->window);
  }
}

static void put_many(void* of, long iterations) {
  const State* s = of;
  for (long i = 0; i < iterations && s->bench->rank == 0; ++i) {
    MPI_Put(s->buffer, 8, MPI_BYTE, s->target, (i % kMany) * 8, 8, MPI_BYTE, s->window);
    if (i % kMany == kMany - 1) MPI_Win_flush(s->target, s->window);
  }
  if (s->bench->rank == 0) MPI_Win_flush(s->target, s->window);
}

static void fetch(const State* s, int target, long iterations) {
  const long one = 1;
  long old;
  for (long i = 0; i < iterations; ++i) {
    MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, s->window);
    MPI_Win_flush(target, s->window);
  }
}

static void fetch_and_op(void* of, long iterations) {
  const State* s = of;
  if (s->bench->rank == 0) fetch(s, s->target, iterations);
}

static void contend_fetch_and_op(void* of, long iterations) { fetch(of, 0, iterations); }

static void compare_and_swap(void* of, long iterations) {
  const State* s = of;
  long old, seen = 0;
  for (long i = 0; i < iterations && s->bench->rank == 0; ++i) {
    const long next = i;
    MPI_Compare_and_swap(&next, &seen, &old, MPI_LONG, s->target, 8, s->window);
    MPI_Win_flush(s->target, s->window);
    seen = next;
  }
}

static void accumulate(void* of, long iterations) {
  const State* s = of;
  const int count = (int)(s->size / sizeof(double));
  for (long i = 0; i < iterations && s->bench->rank == 0; ++i) {
    MPI_Accumulate(s->buffer, count, MPI_DOUBLE, s->target, 64, count, MPI_DOUBLE, MPI_SUM,
                   s->window);
    MPI_Win_flush(s->target, s->window);
  }
}

static void lock(const State* s, int target, long iterations) {
  for (long i = 0; i < iterations; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, s->window);
    MPI_Put(s->buffer, 8, MPI_BYTE, target, 0, 8, MPI_BYTE, s->window);
    MPI_Win_unlock(target, s->window);
  }
}

static void lock_put_unlock(void* of, long iterations) {
  const State* s = of;
  if (s->bench->rank == 0) lock(s, s->target, iterations);
}

static void contend_lock(void* of, long iterations) { lock(of, 0, iterations); }

static void fence(void* of, long iterations) {
  const State* s = of;
  for (long i = 0; i < iterations; ++i) MPI_Win_fence(0, s->window);
}

static void post_start(void* of, long iterations) {
  const State* s = of;
  for (long i = 0; i < iterations; ++i) {
    MPI_Win_post(s->all, 0, s->window);
    MPI_Win_start(s->all, 0, s->window);
    MPI_Win_complete(s->window);
    MPI_Win_wait(s->window);
  }
}

static void create(void* of, long iterations) {
  (void)of;
  for (long i = 0; i < iterations; ++i) {
    MPI_Win made;
    void* base;
    MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
    MPI_Win_free(&made);
  }
}

static double busy_fetch_and_op(State* s) {
  enum { kRounds = 15, kOperations = 100 };
  double times[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (s->bench->rank == 0)
      fetch(s, s->target, kOperations);
    else
      while (MPI_Wtime() - start < 0.02) continue;
    times[round] = (MPI_Wtime() - start) / kOperations;
  }
  qsort(times, kRounds, sizeof *times, bench_by_value);
  return times[kRounds / 2];
}

static void measure(State* s, const char* name, BenchBody body, size_t size) {
  if (!bench_wanted(s->bench, name)) return;
  s->size = size;
  bench_report(s->bench, name, size, bench_time(s->bench, body, s) * 1e6, "us");
}

static void measure_created(State* s) {
  char* const memory = bench_allocate(s->bench, kLargest);
  memset(memory, 0, kLargest);
  MPI_Win_create(memory, kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &s->window);
  MPI_Win_lock_all(0, s->window);
  for (size_t size = 8; size <= kLargest; size *= 64) measure(s, "rma_created_put", put, size);
  measure(s, "rma_created_fetch_and_op", fetch_and_op, 8);
  if (bench_wanted(s->bench, "rma_busy_fetch_and_op"))
    bench_report(s->bench, "rma_busy_fetch_and_op", 8, busy_fetch_and_op(s) * 1e6, "us");
  MPI_Win_unlock_all(s->window);
  MPI_Win_free(&s->window);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, kLargest);
  bench_need_ranks(&bench, 2);
  State s = {.bench = &bench, .target = 1};
  char* base;
  MPI_Win_allocate(kLargest + 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &s.window);
  memset(base, 0, kLargest + 4096);
  s.buffer = bench_allocate(&bench, kLargest);
  memset(s.buffer, 0, kLargest);
  MPI_Win_get_group(s.window, &s.all);
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Win_lock_all(0, s.window);
  for (size_t size = 8; size <= kLargest; size *= 8) {
    measure(&s, "rma_put", put, size);
    measure(&s, "rma_get", get, size);
  }
  measure(&s, "rma_put_many", put_many, 8);
  measure(&s, "rma_fetch_and_op", fetch_and_op, 8);
  measure(&s, "rma_compare_and_swap", compare_and_swap, 8);
  for (size_t size = 8; size <= kLargest; size *= 8)
    measure(&s, "rma_accumulate", accumulate, size);
  measure(&s, "rma_contend_fetch_and_op", contend_fetch_and_op, 8);
  MPI_Win_unlock_all(s.window);
  measure(&s, "rma_lock", lock_put_unlock, 8);
  measure(&s, "rma_contend_lock", contend_lock, 8);
  measure(&s, "rma_pscw", post_start, 0);
  measure(&s, "rma_fence", fence, 0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, s.window);
  measure(&s, "rma_create", create, 0);
  MPI_Group_free(&s.all);
  MPI_Win_free(&s.window);
  measure_created(&s);
  return bench_close();
}
