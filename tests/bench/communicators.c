// SPDX-License-Identifier: Apache-2.0
// Times the creation and release of communicators: split, create_group of two ranks, dup, and dup
// with a first barrier, since libraries postpone set-up until the first call. The last figures are
// the memory of one of a thousand communicators.
#include "bench.h"

typedef struct {
  const Bench* bench;
  MPI_Group pair;
} State;

static void split(void* of, long iterations) {
  const State* state = of;
  for (long i = 0; i < iterations; ++i) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, state->bench->rank % 2, state->bench->rank, &half);
    MPI_Comm_free(&half);
  }
}

static void create_group(void* of, long iterations) {
  const State* state = of;
  if (state->bench->rank > 1) return;
  for (long i = 0; i < iterations; ++i) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, state->pair, 1, &made);
    MPI_Comm_free(&made);
  }
}

static void duplicate(void* of, long iterations) {
  (void)of;
  for (long i = 0; i < iterations; ++i) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_free(&made);
  }
}

static void duplicate_barrier(void* of, long iterations) {
  (void)of;
  for (long i = 0; i < iterations; ++i) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
  }
}

// own_memory() returns the dirty bytes of this process, with 1/N of a page shared by N processes;
// mean over the ranks, on rank 0 only.
static double own_memory(const Bench* bench) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kib = -1, part, other;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Pss_Dirty: %lf", &part) == 1) kib = part;
  if (file) fclose(file);
  if (kib < 0) bench_fail(bench, "no Pss_Dirty in /proc/self/smaps_rollup (Linux 6.0 has it)", 0);
  if (bench->rank != 0) MPI_Send(&kib, 1, MPI_DOUBLE, 0, kControlTag, MPI_COMM_WORLD);
  for (int r = 1; bench->rank == 0 && r < bench->ranks; ++r) {
    MPI_Recv(&other, 1, MPI_DOUBLE, r, kControlTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kib += other;
  }
  return kib * 1024 / bench->ranks;
}

static void use(const Bench* bench, MPI_Comm comm) {
  const double mine = bench->rank;
  double sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  if (sum != bench->ranks * (bench->ranks - 1) / 2.0) bench_fail(bench, "the sum is wrong", 8);
}

// Fifty communicators come first, so growing pools do not count. Between the barriers no rank makes
// or uses a communicator while another rank reads its memory figures.
static void memory(const Bench* bench) {
  enum { kBefore = 50, kMore = 1000 };
  static MPI_Comm made[kBefore + kMore];
  for (int i = 0; i < kBefore; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    use(bench, made[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = own_memory(bench);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = kBefore; i < kBefore + kMore; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  bench_report(bench, "comm_memory", 0, (own_memory(bench) - before) / kMore, "B");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = kBefore; i < kBefore + kMore; ++i) use(bench, made[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  bench_report(bench, "comm_memory_used", 0, (own_memory(bench) - before) / kMore, "B");
  for (int i = 0; i < kBefore + kMore; ++i) MPI_Comm_free(&made[i]);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 1);
  bench_need_ranks(&bench, 2);
  const struct {
    const char* name;
    BenchBody body;
  } parts[] = {{"comm_split", split},
               {"comm_create_group", create_group},
               {"comm_dup", duplicate},
               {"comm_dup_barrier", duplicate_barrier}};
  State state = {.bench = &bench};
  MPI_Group world;
  const int both[] = {0, 1};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, both, &state.pair);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (bench.operations && !strstr(bench.operations, parts[i].name)) continue;
    bench_report(&bench, parts[i].name, 0, bench_time(&bench, parts[i].body, &state) * 1e6, "us");
  }
  if (!bench.operations || strstr(bench.operations, "comm_memory")) memory(&bench);
  MPI_Group_free(&state.pair);
  MPI_Group_free(&world);
  return bench_close();
}
