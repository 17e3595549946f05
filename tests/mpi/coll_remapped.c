// SPDX-License-Identifier: Apache-2.0
// A mapping is replaced by memory that the kernel reads for no other process (memfd_secret, similar
// to device registers). Every call uses another protocol.
// ranks: 2 3 4
// full-ranks: 5
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
enum { kInts = 1 << 16, kTurns = 2, kKinds = 10 };

static int *in, *out;

static int secret(size_t bytes) {
  const int file = (int)syscall(SYS_memfd_secret, 0);
  return file >= 0 && ftruncate(file, (off_t)bytes) == 0 ? file : -1;
}

static int* map(int* at, size_t bytes, int file) {
  const int flags = (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (at ? MAP_FIXED : 0);
  void* const found = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (found == MAP_FAILED) FAIL("mmap: %s", strerror(errno));
  return found;
}

static int value(int from, int i) { return from * 7 + i; }
static void check_sum(void) {
  for (int i = 0; i < kInts; i += 997) CHECK_EQ(out[i], size * (size - 1) / 2 * 7 + size * i);
}
static void check_blocks(int block, int first) {
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < block; i += 997) CHECK_EQ(out[from * block + i], value(from, first + i));
}

static void one(int kind) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  const int block = kInts / size;
  switch (kind) {
    case 0:
      OK(MPI_Allreduce(in, out, kInts, MPI_INT, MPI_SUM, comm));
      return check_sum();
    case 1:
      OK(MPI_Iallreduce(in, out, kInts, MPI_INT, MPI_SUM, comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return check_sum();
    case 2:
      OK(MPI_Allgather(in, kInts, MPI_INT, out, kInts, MPI_INT, comm));
      return check_blocks(kInts, 0);
    case 3:
      OK(MPI_Iallgather(in, kInts, MPI_INT, out, kInts, MPI_INT, comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return check_blocks(kInts, 0);
    case 4:
      OK(MPI_Alltoall(in, block, MPI_INT, out, block, MPI_INT, comm));
      return check_blocks(block, rank * block);
    case 5:
      OK(MPI_Ialltoall(in, block, MPI_INT, out, block, MPI_INT, comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return check_blocks(block, rank * block);
    case 6:
      OK(MPI_Gather(in, kInts, MPI_INT, out, kInts, MPI_INT, 0, comm));
      if (rank == 0) check_blocks(kInts, 0);
      return;
    case 7:
      OK(MPI_Reduce_scatter_block(in, out, block, MPI_INT, MPI_SUM, comm));
      CHECK_EQ(out[0], size * (size - 1) / 2 * 7 + size * rank * block);
      return;
    case 8:
      OK(MPI_Sendrecv(in, kInts, MPI_INT, (rank + 1) % size, 0, out, kInts, MPI_INT,
                      (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE));
      CHECK_EQ(out[5], value((rank + size - 1) % size, 5));
      return;
    default: {
      MPI_Win win;
      OK(MPI_Win_create(in, kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &win));
      OK(MPI_Win_fence(0, win));
      OK(MPI_Get(out, kInts, MPI_INT, (rank + 1) % size, 0, kInts, MPI_INT, win));
      OK(MPI_Win_fence(0, win));
      CHECK_EQ(out[kInts - 1], value((rank + 1) % size, kInts - 1));
      OK(MPI_Put(in + 1, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
      OK(MPI_Win_fence(0, win));
      CHECK_EQ(in[0], value((rank + size - 1) % size, 1));
      OK(MPI_Win_free(&win));
    }
  }
}

int main(int argc, char** argv) {
  const size_t bytes = kInts * sizeof(int);
  begin(&argc, &argv);
  const int file = secret(bytes);
  int mine = file >= 0, all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (!all) {
    OK(MPI_Finalize());
    puts("memfd_secret is refused here");
    return 77;
  }
  out = malloc(bytes * (size_t)size);
  for (int kind = 0; kind < kKinds; ++kind)
    for (int victim = 0; victim < size; ++victim) {
      in = map(NULL, bytes, -1);
      for (int turn = 0; turn < kTurns; ++turn) {
        if (turn == 1 && rank == victim) in = map(in, bytes, file);
        for (int i = 0; i < kInts; ++i) in[i] = value(rank, i);
        one(kind);
      }
      munmap(in, bytes);
    }
  free(out);
  return end();
}
