// SPDX-License-Identifier: Apache-2.0
// Windows over all kinds of memory. Read-only memory is readable. Access to unmapped memory is an
// error, not a crash.
// ranks: 2 3
// hosts: no, a target of another host would crash
// transport: sm, as other hosts do
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kInts = 1 << 18 };
static int statics[kInts];

static void exchange(int* mine, int count) {
  MPI_Win win;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int *out = malloc(sizeof(int) * kInts), *in = malloc(sizeof(int) * kInts);
  OK(MPI_Win_create(mine, count * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                    &win));
  for (int i = 0; i < count; ++i) out[i] = rank * kInts + i;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(out, count, MPI_INT, next, 0, count, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < count; ++i) CHECK_EQ(mine[i], before * kInts + i);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(out, count, MPI_INT, next, 0, count, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(in, count, MPI_INT, next, 0, count, MPI_INT, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int i = 0; i < count; ++i) CHECK_EQ(in[i], 2 * (rank * kInts + i));
  OK(MPI_Win_free(&win));
  free(out);
  free(in);
}

static int* map(int flags, int file) {
  int* at = mmap(NULL, kInts * sizeof(int), PROT_READ | PROT_WRITE, flags, file, 0);
  CHECK(at != MAP_FAILED);
  return at;
}

static void mappings(void) {
  FILE* file = tmpfile();
  CHECK(file != NULL && ftruncate(fileno(file), kInts * sizeof(int)) == 0);
  int* const all[] = {map(MAP_SHARED, fileno(file)), map(MAP_PRIVATE, fileno(file)),
                      map(MAP_SHARED | MAP_ANONYMOUS, -1), map(MAP_PRIVATE | MAP_ANONYMOUS, -1)};
  for (int i = 0; i < 4; ++i) {
    exchange(all[i], kInts);
    munmap(all[i], kInts * sizeof(int));
  }
  fclose(file);
}

// The middle is unmapped, the rest read-only. A polling target would execute smaller operations
// itself.
static void lost_memory(void) {
  enum { kMany = 1024 };
  MPI_Win win;
  int values[kMany] = {7};
  int* const mine = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  OK(MPI_Win_create(mine, kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  munmap((char*)mine + (1 << 16), 1 << 16);
  mprotect(mine, 1 << 16, PROT_READ);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int next = (rank + 1) % size;
  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  FAILS(MPI_Put(values, kMany, MPI_INT, next, 1 << 14, kMany, MPI_INT, win), MPI_ERR_OTHER);
  FAILS(MPI_Get(values, kMany, MPI_INT, next, 1 << 14, kMany, MPI_INT, win), MPI_ERR_OTHER);
  FAILS(MPI_Put(values, kMany, MPI_INT, next, 0, kMany, MPI_INT, win), MPI_ERR_OTHER);
  FAILS(MPI_Accumulate(values, kMany, MPI_INT, next, 0, kMany, MPI_INT, MPI_SUM, win),
        MPI_ERR_OTHER);
  OK(MPI_Get(values, kMany, MPI_INT, next, 0, kMany, MPI_INT, win));
  CHECK_EQ(values[0], 0);
  OK(MPI_Win_unlock(next, win));
  OK(MPI_Win_free(&win));
  munmap(mine, 1 << 16);
  munmap((char*)mine + (1 << 17), kInts * sizeof(int) - (1 << 17));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int stack[5000];
  exchange(statics, kInts);
  exchange(stack, 5000);
  int* const heap = malloc(sizeof(int) * kInts);
  exchange(heap, kInts);
  exchange(heap, 0);
  exchange(heap + 1, 3);
  free(heap);
  mappings();
  lost_memory();
  return end();
}
