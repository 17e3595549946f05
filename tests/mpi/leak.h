// SPDX-License-Identifier: Apache-2.0
// Objects and limits of the leak tests. Each case runs twenty thousand times, or a million times
// with --full. LEAK_VERBOSE=1 prints each case.
#ifndef TERN_TESTS_LEAK_H
#define TERN_TESTS_LEAK_H

#include <malloc.h>
#include <unistd.h>

#include "check.h"

struct Case {
  const char* name;
  void (*once)(void);
};
#define CASE(function) \
  { #function, function }

static MPI_Comm comm;
static MPI_Group everybody;
static MPI_Info hints;
static MPI_Errhandler handler;
static MPI_Datatype vector;
static int other, data[64], received[64];

static void hear(MPI_Comm* heard, int* code, ...) {
  (void)heard;
  (void)code;
}
static long resident_kib(void) {
  long total = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long allocated(void) {
  const struct mallinfo2 heap = mallinfo2();
  return (long)(heap.uordblks + heap.hblkhd);
}

struct Grown {
  long bytes, kib;
};

static struct Grown growth(const struct Case* it, int turns) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = allocated(), pages = resident_kib();
  const double start = MPI_Wtime();
  for (int i = 0; i < turns; ++i) it->once();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const struct Grown grown = {allocated() - before, resident_kib() - pages};
  if (getenv("LEAK_VERBOSE") != NULL && rank == 0)
    printf("%-24s %8.2f us  %6ld bytes  %6ld KiB\n", it->name, (MPI_Wtime() - start) / turns * 1e6,
           grown.bytes, grown.kib);
  return grown;
}

// A fast rank may fill a pool further in any round, so a leak must grow in all three. The check
// finds one byte per turn.
static void check_case(const struct Case* it, int turns) {
  for (int i = 0; i < turns / 2 + 500; ++i) it->once();
  int leaks = 1, anywhere = 1;
  for (int round = 1; anywhere && round <= 3; ++round) {
    const struct Grown grown = growth(it, turns);
    leaks = leaks && (grown.bytes > turns / 2 || grown.kib > 1024);
    if (leaks && round == 3)
      FAIL("%s: after %d turns %ld bytes more are allocated, and %ld KiB more resident", it->name,
           turns, grown.bytes, grown.kib);
    OK(MPI_Allreduce(&leaks, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  }
}

static int check_leaks(int argc, char** argv, const struct Case* cases, int count) {
  const char* full = getenv("FULL");
  const int turns = argc > 1 ? atoi(argv[1]) : full != NULL && *full != '\0' ? 1000000 : 20000;
  begin(&argc, &argv);
  other = 1 - rank;
  OK(MPI_Comm_create_errhandler(hear, &handler));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &everybody));
  OK(MPI_Info_create(&hints));
  OK(MPI_Info_set(hints, "mpi_assert_no_any_tag", "false"));
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
  OK(MPI_Type_commit(&vector));
  for (int i = 0; i < count; ++i) check_case(&cases[i], turns);
  OK(MPI_Type_free(&vector));
  OK(MPI_Info_free(&hints));
  OK(MPI_Group_free(&everybody));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Errhandler_free(&handler));
  return end();
}

#endif
