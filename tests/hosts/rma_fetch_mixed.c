// SPDX-License-Identifier: Apache-2.0
// MPI_Fetch_and_op from both hosts on one counter gives an exact sum, each old value once, while
// RDMA writes and reads the bytes around the counter. --full: 10^6 operations.
//
// shapes: 2x1 2x2
// timeout: 240
// env: TERN_TEST=rma=network
#include "../mpi/check.h"

enum {
  kRow = 64,
  kCounter = 31,
  kBatch = 50
};  // the counter is in the middle of the row that RDMA writes

static long* mine;
static MPI_Win win;

static long number_of_operations(void) {
  const char* full = getenv("FULL");
  return full != NULL && full[0] != 0 ? 1000000 : 20000;
}

// Each rank writes its own row beside the counter, left and right, and reads both back.
static void put_and_get(long round) {
  static long out[kRow], in[kRow];
  const MPI_Aint row = (MPI_Aint)rank * kRow;
  for (int i = 0; i < kRow; ++i) out[i] = rank * 1000000000L + round + i;
  OK(MPI_Put(out, kCounter, MPI_LONG, 0, row, kCounter, MPI_LONG, win));
  OK(MPI_Put(out + kCounter + 1, kRow - kCounter - 1, MPI_LONG, 0, row + kCounter + 1,
             kRow - kCounter - 1, MPI_LONG, win));
  OK(MPI_Win_flush(0, win));
  OK(MPI_Get(in, kCounter, MPI_LONG, 0, row, kCounter, MPI_LONG, win));
  OK(MPI_Get(in + kCounter + 1, kRow - kCounter - 1, MPI_LONG, 0, row + kCounter + 1,
             kRow - kCounter - 1, MPI_LONG, win));
  OK(MPI_Win_flush(0, win));
  for (int i = 0; i < kRow; ++i)
    if (i != kCounter) CHECK_EQ(in[i], out[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long each = number_of_operations() / size / kBatch * kBatch, all = each * size;
  const MPI_Aint bytes = rank == 0 ? (MPI_Aint)size * kRow * (MPI_Aint)sizeof(long) : 0;
  OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  long one = 1, old[kBatch], last = -1;
  unsigned char* seen = calloc((size_t)all, 1);
  if (rank == 0) memset(mine, 0, (size_t)bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  for (long i = 0; i < each; i += kBatch) {
    for (int k = 0; k < kBatch; ++k)
      OK(MPI_Fetch_and_op(&one, &old[k], MPI_LONG, 0, kCounter, MPI_SUM, win));
    put_and_get(i);
    for (int k = 0; k < kBatch; ++k) {
      CHECK(old[k] > last && old[k] < all);
      last = old[k];
      seen[last] = 1;
    }
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Allreduce(MPI_IN_PLACE, seen, (int)all, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
  for (long i = 0; i < all; ++i) CHECK_EQ(seen[i], 1);
  if (rank == 0) CHECK_EQ(mine[kCounter], all);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_free(&win));
  free(seen);
  return end();
}
