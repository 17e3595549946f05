// SPDX-License-Identifier: Apache-2.0
// The allocator always fails. Requests of a warm pool to full peers still end. A message or receive
// without memory fails alone, and the peer gets an error.
// ranks: 4
// env: TERN_TEST=sm_ring=4096
// mpirun: --oversubscribe
// sanitizers: no, they have allocators of their own
#include <unistd.h>

#include "check.h"

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
static volatile int starving;

void* malloc(size_t bytes) { return starving ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return starving ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return starving ? NULL : __libc_realloc(old, bytes); }

enum { kMessages = 200, kLarge = 300000 };
static MPI_Request requests[3 * kMessages + 3];
static char small[2000], large[3][kLarge], from[kLarge];

static void flood(int first, int last) {
  int n = 0;
  for (int to = first; to <= last; ++to)
    for (int i = 0; i < kMessages; ++i)
      OK(MPI_Isend(small, i % 8 == 0 ? (int)sizeof small : 8, MPI_BYTE, to, 1, MPI_COMM_WORLD,
                   &requests[n++]));
  for (int to = first; to <= last; ++to)
    OK(MPI_Isend(large[to - 1], kLarge, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[n++]));
  const int large_ones = last - first + 1;
  for (int i = 0; i < n; ++i)
    if (starving && i >= n - large_ones)
      FAILS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    else
      OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

static void drain(int large_comes) {
  for (int i = 0; i < kMessages; ++i)
    OK(MPI_Recv(from, sizeof small, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const int code = MPI_Recv(from, kLarge, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(code == MPI_SUCCESS, large_comes);
  if (!large_comes) return;
  for (int i = 0; i < kLarge; ++i) CHECK(from[i] == (char)(i * 7 + rank));
}

static void post_without_memory(void) {
  enum { kTags = 200 };
  MPI_Request posted[kTags], refused = MPI_REQUEST_NULL;
  MPI_Status status;
  int n = 0, refusals = 0;
  OK(MPI_Probe(0, 8, MPI_COMM_WORLD, &status));
  starving = 1;
  FAILS(MPI_Recv(from, 8, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &status), MPI_ERR_NO_MEM);
  FAILS(MPI_Recv(from, 8, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status), MPI_ERR_NO_MEM);
  starving = 0;
  OK(MPI_Recv(from, 8, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status));
  for (; n < kTags; ++n) {
    starving = n % 3 == 2;
    if (!starving)
      OK(MPI_Irecv(from + 8 * n, 8, MPI_BYTE, 3, 100 + n, MPI_COMM_WORLD, &posted[n]));
    else {
      const int code = MPI_Irecv(from, 8, MPI_BYTE, 3, 500 + n, MPI_COMM_WORLD, &refused);
      CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_NO_MEM);
      posted[n] = code == MPI_SUCCESS ? refused : MPI_REQUEST_NULL;
      refusals += code != MPI_SUCCESS;
    }
    starving = 0;
  }
  CHECK(refusals > 0);
  for (int i = 0; i < kTags; ++i) {
    if (posted[i] == MPI_REQUEST_NULL) continue;
    OK(MPI_Send(small, 8, MPI_BYTE, 3, i % 3 == 2 ? 500 + i : 100 + i, MPI_COMM_WORLD));
    OK(MPI_Wait(&posted[i], MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int to = 1; to < 4; ++to)
    for (int i = 0; i < kLarge; ++i) large[to - 1][i] = (char)(i * 7 + to);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (rank == 0) {
    int n = 0;
    for (int i = 0; i < 3 * kMessages; ++i)
      OK(MPI_Isend(small, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[n++]));
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  }
  if (rank == 1)
    for (int i = 0; i < 3 * kMessages; ++i)
      OK(MPI_Recv(from, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0)
    flood(1, 1);
  else if (rank == 1)
    drain(1);
  if (rank == 0) OK(MPI_Send(small, 8, MPI_BYTE, 3, 8, MPI_COMM_WORLD));
  if (rank == 3) post_without_memory();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  starving = rank == 0;
  if (rank == 0) {
    flood(2, 3);
  } else if (rank > 1) {
    usleep(100000);
    drain(0);
  }
  starving = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return end();
}
