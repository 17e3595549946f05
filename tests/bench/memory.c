// SPDX-License-Identifier: Apache-2.0
// Memory of a rank: the proportional set size, after MPI_Init and after an alltoall; mean and
// maximum over the ranks.
#include "bench.h"

enum { kInit, kAlltoall, kMoments };

// KiB, or 0 if the kernel has no smaps_rollup
static double proportional_set_size(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  double kib = 0;
  char line[256];
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Pss: %lf kB", &kib) == 1) break;
  if (file) fclose(file);
  return kib;
}

static void report(const Bench* bench, const char* mean_name, const char* most_name,
                   const double* all, int moment) {
  double sum = 0, most = 0;
  for (int r = 0; r < bench->ranks; ++r) {
    const double kib = all[r * kMoments + moment];
    if (kib <= 0) bench_fail(bench, "memory: no Pss in /proc/self/smaps_rollup", 0);
    sum += kib;
    if (kib > most) most = kib;
  }
  bench_report(bench, mean_name, 0, sum / bench->ranks, "KiB");
  bench_report(bench, most_name, 0, most, "KiB");
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 1);
  double mine[kMoments];
  // The ranks sleep until all have left MPI_Init, since a barrier would open connections.
  usleep((useconds_t)(bench.seconds * 1e6));
  mine[kInit] = proportional_set_size();
  usleep((useconds_t)(bench.seconds * 0.5e6));

  const size_t ranks = (size_t)bench.ranks;
  char *out = calloc(ranks, 1), *in = calloc(ranks, 1);
  double* all = calloc(ranks * kMoments, sizeof *all);
  MPI_Alltoall(out, 1, MPI_CHAR, in, 1, MPI_CHAR, MPI_COMM_WORLD);
  mine[kAlltoall] = proportional_set_size();
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Gather(mine, kMoments, MPI_DOUBLE, all, kMoments, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (bench.rank == 0) {
    report(&bench, "memory_init", "memory_init_most", all, kInit);
    report(&bench, "memory_alltoall", "memory_alltoall_most", all, kAlltoall);
  }
  free(out);
  free(in);
  free(all);
  return bench_close();
}
