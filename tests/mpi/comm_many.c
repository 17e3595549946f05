// SPDX-License-Identifier: Apache-2.0
// With two thousand live communicators, an allreduce costs as much as with few, an idle
// communicator takes less than 2 KiB, and free returns all memory. MANY=n sets the number.
// ranks: 2 4
// timeout: 120
// sanitizers: no, they keep freed memory
// hosts: no, tens of thousands of allreduces take minutes where hosts share cores
#include <malloc.h>
#include <unistd.h>

#include "check.h"

// kSlack covers the growth of message pools.
enum { kFew = 10, kMost = 20000, kBatches = 400, kBatch = 100, kIdle = 2048, kSlack = 32 };

static MPI_Comm comms[kMost];
static int many = 2000;

static long allocated(void) {
  const struct mallinfo2 heap = mallinfo2();
  return (long)(heap.uordblks + heap.hblkhd);
}
static long dirty(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kib = -1;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Pss_Dirty: %ld", &kib) == 1) break;
  if (file != NULL) fclose(file);
  return kib < 0 ? allocated() : kib * 1024;
}

static long together(long (*bytes)(void)) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long found = bytes();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return found;
}

static void make(int from, int to) {
  const int low = rank - rank % 2, pair[2] = {low, low + 1};
  MPI_Group world, both;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_incl(world, 2, pair, &both));
  for (int i = from; i < to; ++i)
    if (i % 2 == 0)
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    else
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, both, 7, &comms[i]));
  OK(MPI_Group_free(&both));
  OK(MPI_Group_free(&world));
}

static void use(int i) {
  const double mine = rank + i, low = rank - rank % 2;
  double sum = -1;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comms[i]));
  const double wanted = i % 2 ? 2 * low + 1 + 2.0 * i : size * (size - 1) / 2.0 + (double)size * i;
  if (sum != wanted) FAIL("the sum on communicator %d is %g, expected %g", i, sum, wanted);
}

static double seconds(int batch, int on) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < kBatch; ++i) use((int)((batch * kBatch + i) * 7919LL % on));
  return MPI_Wtime() - begin;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The quickest of many short batches had both cores for itself. The bound of 8 leaves room
// for cache misses; a scan of all communicators would take 200 times as long.
static void cost(void) {
  static double few[kBatches], all[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    few[i] = seconds(i, kFew) / kBatch * 1e6;
    all[i] = seconds(i, many) / kBatch * 1e6;
  }
  qsort(few, kBatches, sizeof *few, by_value);
  qsort(all, kBatches, sizeof *all, by_value);
  const double one = few[0], other = all[0];
  if (getenv("VERBOSE") != NULL && rank == 0)
    printf("%.3f us on %d communicators, %.3f us on %d\n", one, kFew, other, many);
  if (other > 8 * one && rank == 0)
    FAIL("an allreduce takes %.3f us on %d communicators, but %.3f us on %d", one, kFew, other,
         many);
}

int main(int argc, char** argv) {
  const char* given = getenv("MANY");
  begin(&argc, &argv);
  need(2);
  if (given != NULL) many = atoi(given);
  CHECK(size % 2 == 0 && many >= 100 && many <= kMost);
  for (int round = 0; round < 2; ++round) {
    const long before = together(allocated), written = together(dirty);
    make(0, many);
    const long idle = together(dirty) - written;
    if (idle > (long)many * kIdle)
      FAIL("%d idle communicators take %ld bytes each, at most %d are allowed", many, idle / many,
           kIdle);
    for (int i = 0; i < many; ++i) use(many - 1 - i);
    const long used = together(dirty) - written;
    if (getenv("VERBOSE") != NULL && rank == 0)
      printf("%ld bytes of an idle communicator, %ld of a used one\n", idle / many, used / many);
    if (round == 0) cost();
    for (int i = 0; i < many; ++i) OK(MPI_Comm_free(&comms[(i * 7919LL + round) % many]));
    const long kept = together(allocated) - before;
    if (round == 1 && kept > many * kSlack)
      FAIL("%ld bytes of %d communicators were not given back", kept, many);
  }
  return end();
}
