// SPDX-License-Identifier: Apache-2.0
// Small operations on user memory, executed by a polling target, or by the kernel while the target
// computes: counters, swaps, blocks around the size of a box, elements of all shapes.
// ranks: 2 4 8
#include <stddef.h>

#include "check.h"

enum { kRounds = 400, kBlock = 1100, kElements = 8 };

typedef struct {
  long counter, owner;
  double pad;
  unsigned char block[kBlock];
  struct {
    double value;
    int index;
  } place[kElements];
  long double wide[kElements];
  double complex[2 * kElements];
} Part;

static Part mine;
static MPI_Win win;
static long tickets[kRounds];

#define AT(member) ((MPI_Aint)offsetof(Part, member))

static void compute(double seconds) {
  const double start = MPI_Wtime();
  while (MPI_Wtime() - start < seconds) continue;
}

static void counters(void) {
  const long one = 1;
  for (int i = 0; i < kRounds; ++i) {
    OK(MPI_Fetch_and_op(&one, &tickets[i], MPI_LONG, 0, AT(counter), MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    if (rank == 0 && i % 100 == 50) compute(0.002);
    long seen = 0, old = -1;
    const long next = rank + 1, none = 0;
    while (i % 40 == 0 && old != none) {
      OK(MPI_Compare_and_swap(&next, &none, &old, MPI_LONG, 0, AT(owner), win));
      OK(MPI_Win_flush(0, win));
      if (old != none) continue;
      OK(MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 0, AT(owner), MPI_NO_OP, win));
      OK(MPI_Win_flush(0, win));
      CHECK_EQ(seen, next);
      OK(MPI_Accumulate(&none, 1, MPI_LONG, 0, AT(owner), 1, MPI_LONG, MPI_REPLACE, win));
      OK(MPI_Win_flush(0, win));
    }
  }
}

static void check_tickets(void) {
  const int all = kRounds * size;
  long* const drawn = malloc(sizeof(long) * (size_t)all);
  char* const seen = calloc((size_t)all, 1);
  OK(MPI_Allgather(tickets, kRounds, MPI_LONG, drawn, kRounds, MPI_LONG, MPI_COMM_WORLD));
  for (int i = 0; i < all; ++i) {
    CHECK(drawn[i] >= 0 && drawn[i] < all && !seen[drawn[i]]);
    seen[drawn[i]] = 1;
  }
  for (int i = 1; i < kRounds; ++i) CHECK(tickets[i - 1] < tickets[i]);
  free(drawn);
  free(seen);
}

static void blocks(int next) {
  static const int sizes[] = {0, 1, 7, 8, 63, 64, 65, 511, 1023, 1024, 1025, kBlock};
  unsigned char from[kBlock], to[kBlock];
  for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
    memset(from, 10 * rank + i, sizeof from);
    memset(to, 0, sizeof to);
    OK(MPI_Put(from, sizes[i], MPI_BYTE, next, AT(block), sizes[i], MPI_BYTE, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(to, sizes[i], MPI_BYTE, next, AT(block), sizes[i], MPI_BYTE, win));
    OK(MPI_Win_flush(next, win));
    CHECK_EQ(memcmp(from, to, (size_t)sizes[i]), 0);
    if (i % 5 == 0) compute(0.001);
  }
}

static void elements(void) {
  struct {
    double value;
    int index;
  } place[kElements];
  long double wide[kElements];
  double complex[2 * kElements];
  for (int i = 0; i < kElements; ++i) {
    place[i].value = (rank * 7 + i) % size;
    place[i].index = rank;
    wide[i] = rank + i;
    complex[2 * i] = rank;
    complex[2 * i + 1] = i;
  }
  for (int i = 0; i < 10; ++i) {
    OK(MPI_Accumulate(place, kElements, MPI_DOUBLE_INT, 0, AT(place), kElements, MPI_DOUBLE_INT,
                      MPI_MAXLOC, win));
    OK(MPI_Accumulate(wide, kElements, MPI_LONG_DOUBLE, 0, AT(wide), kElements, MPI_LONG_DOUBLE,
                      MPI_SUM, win));
    OK(MPI_Accumulate(complex, kElements, MPI_C_DOUBLE_COMPLEX, 0, AT(complex), kElements,
                      MPI_C_DOUBLE_COMPLEX, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
  }
}

static void check_elements(void) {
  const int ranks = size * (size - 1) / 2;
  for (int i = 0; i < kElements; ++i) {
    CHECK_EQ((int)mine.place[i].value, size - 1);
    CHECK_EQ((mine.place[i].index * 7 + i) % size, size - 1);
    CHECK_EQ((long)mine.wide[i], 10 * (ranks + size * i));
    CHECK_EQ((long)mine.complex[2 * i], 10 * ranks);
    CHECK_EQ((long)mine.complex[2 * i + 1], 10 * size * i);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Win_create(&mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_lock_all(0, win));
  counters();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  blocks((rank + 1) % size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  elements();
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK_EQ(mine.counter, (long)kRounds * size);
  check_tickets();
  if (rank == 0) check_elements();
  OK(MPI_Win_free(&win));
  return end();
}
