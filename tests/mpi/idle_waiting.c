// SPDX-License-Identifier: Apache-2.0
// With more ranks than cores, all waiting ranks together use less than 5 % of a core. A message
// wakes all ranks at once.
// ranks: 9
// transport: sm, libfabric's provider net has no descriptor to sleep on that is cheap
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static double cpu_seconds(void) {
  struct rusage used;
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double switches(void) {
  struct rusage used;
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  return (double)(used.ru_nvcsw + used.ru_nivcsw);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (sysconf(_SC_NPROCESSORS_ONLN) >= size) {
    if (rank == 0) printf("as many cores as ranks: they may spin\n");
    MPI_Finalize();
    return 77;
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const double before = cpu_seconds(), start = MPI_Wtime();
  const double left_core = switches();
  int word = 1;
  if (rank == 0) {
    sleep(2);
    for (int dest = 1; dest < size; ++dest)
      OK(MPI_Send(&word, 1, MPI_INT, dest, 0, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  const double wall = MPI_Wtime() - start;
  double used = rank == 0 ? 0 : cpu_seconds() - before, all = 0;
  double left = rank == 0 ? 0 : switches() - left_core, left_by_all = 0;
  OK(MPI_Reduce(&left, &left_by_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
  OK(MPI_Reduce(&used, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0 && all > 0.05 * wall)
    FAIL("%d waiting ranks used %.1f %% of a core", size - 1, 100 * all / wall);
  // The bound includes yields before the first sleep. Waking every 10 ms would cause 200 switches
  // per rank.
  if (rank == 0 && left_by_all > 100 * (size - 1))
    FAIL("%d waiting ranks left their cores %.0f times", size - 1, left_by_all);
  if (wall > 4) FAIL("woken only after %.1f s", wall);
  return end();
}
