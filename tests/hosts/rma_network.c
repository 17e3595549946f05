// SPDX-License-Identifier: Apache-2.0
// RDMA carries puts and gets between hosts, in every kind of epoch; accumulates and pieces below
// 1 KiB are messages. Performance variables count both, and TERN_EXPLAIN names them.
//
// shapes: 2x1 2x2
// env: TERN_TEST=rma=network TERN_EXPLAIN=1
// expect-stderr: a window of .* by copies of the kernel, [12] by RDMA, 0 by messages
#include "../mpi/check.h"

enum { kInts = 400000, kRounds = 4 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle network, messages;

static MPI_T_pvar_handle handle_of(const char* name) {
  int index, count;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_start(session, handle));
  return handle;
}

static unsigned long long read_one(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static int *mine, *out, *in;
static MPI_Win win;
static int to, from;

static void prepare(int first) {
  for (int i = 0; i < kInts; ++i) out[i] = first + i;
  memset(in, 0xff, kInts * sizeof *in);
}

static void has(const int* data, int first) {
  for (int i = 0; i < kInts; ++i) CHECK_EQ(data[i], first + i);
}

static void fences(int first) {
  prepare(first + rank);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(out, kInts, MPI_INT, to, 0, kInts, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  has(mine, first + from);
  OK(MPI_Get(in, kInts, MPI_INT, to, 0, kInts, MPI_INT, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  has(in, first + rank);
}

static void posts(int first) {
  MPI_Group all;
  OK(MPI_Win_get_group(win, &all));
  prepare(first + rank);
  OK(MPI_Win_post(all, 0, win));
  OK(MPI_Win_start(all, 0, win));
  OK(MPI_Put(out, kInts, MPI_INT, to, 0, kInts, MPI_INT, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  has(mine, first + from);
  OK(MPI_Group_free(&all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void locks(int first) {
  MPI_Request requests[2];
  prepare(first + rank);
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
  OK(MPI_Rput(out, kInts, MPI_INT, to, 0, kInts, MPI_INT, win, &requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Rget(in, kInts, MPI_INT, to, 0, kInts, MPI_INT, win, &requests[1]));
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  has(in, first + rank);
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  has(mine, first + from);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void by_messages(void) {
  const int one = 1, before = mine[0];
  MPI_Datatype spread;
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &spread));
  OK(MPI_Type_commit(&spread));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win));
  OK(MPI_Put(out, 4, MPI_INT, to, 10, 1, spread, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  OK(MPI_Type_free(&spread));
  CHECK_EQ(mine[0], before + 1);
}

int main(int argc, char** argv) {
  int provided;
  begin(&argc, &argv);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  network = handle_of("rma_network");
  messages = handle_of("rma_by_messages");
  to = from = (rank + size / 2) % size;  // on the other host
  out = malloc(kInts * sizeof *out);
  in = malloc(kInts * sizeof *in);
  OK(MPI_Win_allocate(kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                      &win));
  for (int i = 0; i < kRounds; ++i) {
    fences(10 * i);
    posts(10 * i + 100);
    locks(10 * i + 200);
  }
  CHECK_EQ(read_one(network), 5 * kRounds);
  CHECK_EQ(read_one(messages), 0);
  by_messages();
  CHECK_EQ(read_one(network), 5 * kRounds);
  CHECK_EQ(read_one(messages), 2);
  OK(MPI_Win_free(&win));
  free(out);
  free(in);
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return end();
}
