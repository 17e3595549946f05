// SPDX-License-Identifier: Apache-2.0
// Locks, flushes, post-start-complete-wait, fences with assertions, wrong epochs.
// ranks: 1 2 4 8
// variant: created
//   User memory.
//   cflags: -DOWN_MEMORY
// variant: copied
//   Windows copied by the kernel.
//   ranks: 2 4 8
//   env: TERN_TEST=rma=copied
// variant: messages
//   Windows by messages, without mappings.
//   ranks: 2 4 8
//   env: TERN_TEST=rma=messages
// variant: network
//   RDMA, emulated by UCX between ranks of a host.
//   ranks: 2 4
//   env: TERN_TRANSPORT=ucx TERN_TEST=rma=network
#include "check.h"

enum { kRounds = 200 };

static void exclusive_locks(MPI_Win win, long* mine) {
  mine[0] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kRounds; ++i) {
    long value = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_EQ(mine[0], (long)kRounds * size);
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void shared_locks(MPI_Win win, long* mine) {
  for (int i = 0; i < kRounds; ++i) {
    const int target = (rank + i) % size;
    const long value = i;
    OK(MPI_Win_lock(i % 3 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, target, 1 + rank, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(target, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  for (int from = 0; from < size; ++from) {
    long last = -1;
    for (int i = 0; i < kRounds; ++i)
      if ((from + i) % size == rank) last = i;
    OK(MPI_Win_sync(win));
    CHECK_EQ(mine[1 + from], last);
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void several_locks(MPI_Win win) {
  for (int i = 0; i < 20; ++i) {
    for (int target = 0; target < size; ++target)
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    for (int target = size - 1; target >= 0; --target) OK(MPI_Win_unlock(target, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Win_flush_local_all(win));
    OK(MPI_Win_flush(rank, win));
    OK(MPI_Win_flush_local(rank, win));
    OK(MPI_Win_unlock_all(win));
  }
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
  OK(MPI_Win_flush(MPI_PROC_NULL, win));
  OK(MPI_Win_unlock(MPI_PROC_NULL, win));
}

static void post_start(MPI_Win win, long* mine, int tested) {
  MPI_Group all, none = MPI_GROUP_EMPTY;
  OK(MPI_Win_get_group(win, &all));
  for (int i = 0; i < 50; ++i) {
    for (int place = 0; place < size; ++place) mine[place] = -1;
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
    const long value = i * 100 + rank;
    for (int target = 0; target < size; ++target)
      OK(MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, win));
    OK(MPI_Win_complete(win));
    int done = 0;
    while (tested && !done) OK(MPI_Win_test(win, &done));
    if (!tested) OK(MPI_Win_wait(win));
    for (int from = 0; from < size; ++from) CHECK_EQ(mine[from], i * 100 + from);
    OK(MPI_Win_post(none, 0, win));
    OK(MPI_Win_start(none, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
  }
  OK(MPI_Group_free(&all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void ring(MPI_Win win, long* mine) {
  MPI_Group all, to, from;
  OK(MPI_Win_get_group(win, &all));
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  OK(MPI_Group_incl(all, 1, &next, &to));
  OK(MPI_Group_incl(all, 1, &before, &from));
  for (int i = 0; i < 50; ++i) {
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Win_post(from, 0, win));
    const long value = i + rank;
    OK(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_EQ(mine[0], i + before);
  }
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&to));
  OK(MPI_Group_free(&from));
}

static void fences(MPI_Win win, long* mine) {
  for (int i = 0; i < 50; ++i) {
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    const long value = i;
    OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(mine[0], i);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  OK(MPI_Win_unlock(0, win));
}

static void wrong_epochs(MPI_Win win) {
  long value = 0;
  MPI_Group all;
  int flag;
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock(17, 0, 0, win), MPI_ERR_LOCKTYPE);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
  FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
  OK(MPI_Put(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win));
  FAILS(MPI_Put(&value, 1, MPI_LONG, rank, 1000000, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Put(&value, 1, MPI_LONG, rank, -1, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Get(&value, 2, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  if (size > 1)
    FAILS(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_post(all, 0, win));
  FAILS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_start(all, 0, win));
  FAILS(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  MPI_Request request;
  FAILS(MPI_Rput(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  OK(MPI_Group_free(&all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  long* mine = NULL;
  MPI_Win win;
#ifdef OWN_MEMORY
  mine = malloc((size + 1) * (MPI_Aint)sizeof(long));
  OK(MPI_Win_create(mine, (size + 1) * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
#else
  OK(MPI_Win_allocate((size + 1) * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL,
                      MPI_COMM_WORLD, &mine, &win));
#endif
  exclusive_locks(win, mine);
  shared_locks(win, mine);
  several_locks(win);
  post_start(win, mine, 0);
  post_start(win, mine, 1);
  ring(win, mine);
  fences(win, mine);
  wrong_epochs(win);
  OK(MPI_Win_free(&win));
#ifdef OWN_MEMORY
  free(mine);
#endif
  return end();
}
