// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=rma: conflicting accesses give an error with both calls. Accesses allowed by the
// standard pass.
// ranks: 2 4
// env: TERN_CHECK=rma
// transport: sm, of ranks of other hosts nothing is known
#include "check.h"

enum { kInts = 64 };

static MPI_Win win;
static int values[kInts];

static void meet(void) { OK(MPI_Barrier(MPI_COMM_WORLD)); }

static void conflict(int code, const char* first, const char* second) {
  CHECK_EQ(class_of(code), MPI_ERR_RMA_CONFLICT);
  CHECK(strstr(error_text(code), first) != NULL);
  CHECK(strstr(error_text(code), second) != NULL);
}

static void of_two_ranks(void) {
  OK(MPI_Win_lock_all(0, win));
  if (rank == 0) OK(MPI_Put(values, 4, MPI_INT, 0, 0, 4, MPI_INT, win));
  if (rank == 0) OK(MPI_Get(values, 4, MPI_INT, 0, 8, 4, MPI_INT, win));
  if (rank == 0) OK(MPI_Accumulate(values, 4, MPI_INT, 0, 16, 4, MPI_INT, MPI_SUM, win));
  meet();
  if (rank == 1) {
    int old;
    float real = 1;
    conflict(MPI_Put(values, 1, MPI_INT, 0, 3, 1, MPI_INT, win), "this put", "MPI_Put of rank 0");
    conflict(MPI_Get(values, 9, MPI_INT, 0, 3, 9, MPI_INT, win), "this get", "put of the bytes 0 ");
    OK(MPI_Put(values, 4, MPI_INT, 0, 4, 4, MPI_INT, win));
    OK(MPI_Get(values, 4, MPI_INT, 0, 8, 4, MPI_INT, win));
    conflict(MPI_Put(values, 1, MPI_INT, 0, 11, 1, MPI_INT, win), "this put", "MPI_Get of rank 0");
    OK(MPI_Accumulate(values, 4, MPI_INT, 0, 18, 4, MPI_INT, MPI_MAX, win));
    OK(MPI_Fetch_and_op(values, &old, MPI_INT, 0, 19, MPI_SUM, win));
    conflict(MPI_Accumulate(&real, 1, MPI_FLOAT, 0, 17, 1, MPI_FLOAT, MPI_SUM, win),
             "this accumulate", "MPI_Accumulate of rank 0");
    conflict(MPI_Get(values, 1, MPI_INT, 0, 16, 1, MPI_INT, win), "this get", "MPI_Accumulate");
  }
  meet();
  if (rank == 0) OK(MPI_Win_flush(0, win));
  if (rank == 1) OK(MPI_Win_flush_all(win));
  meet();
  if (rank == 1) OK(MPI_Put(values, kInts, MPI_INT, 0, 0, kInts, MPI_INT, win));
  OK(MPI_Win_unlock_all(win));
  meet();
}

static void between_each_other(void) {
  MPI_Datatype column;
  OK(MPI_Type_vector(kInts / size, 1, size, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Put(values, kInts / size, MPI_INT, 0, rank, 1, column, win));
  meet();
  if (rank == 1)
    conflict(MPI_Put(values, 1, MPI_INT, 0, size, 1, MPI_INT, win), "this put", "of rank 0 at ");
  meet();
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Type_free(&column));
  meet();
}

static void after_epochs(void) {
  for (int form = 0; form < 3; ++form)
    for (int writer = 0; writer < 2; ++writer) {
      MPI_Group all;
      OK(MPI_Win_get_group(win, &all));
      if (form == 0) OK(MPI_Win_fence(0, win));
      if (form == 1) OK(MPI_Win_post(all, 0, win));
      if (form == 1) OK(MPI_Win_start(all, 0, win));
      if (form == 2) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
      if (rank == writer) OK(MPI_Put(values, kInts, MPI_INT, 0, 0, kInts, MPI_INT, win));
      if (form == 0) OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
      if (form == 1) OK(MPI_Win_complete(win));
      if (form == 1) OK(MPI_Win_wait(win));
      if (form == 2) OK(MPI_Win_unlock(0, win));
      OK(MPI_Group_free(&all));
      meet();
    }
}

// Without TERN_CHECK=rma, the call takes the lock (rma_objects.c).
static void never_locked(void) {
  MPI_Info info;
  void* base;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  never_locked();
  int* memory = values;
  for (int form = 0; form < 2; ++form) {
    if (form == 0)
      OK(MPI_Win_allocate(sizeof values, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                          &win));
    else
      OK(MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    of_two_ranks();
    between_each_other();
    after_epochs();
    OK(MPI_Win_free(&win));
  }
  return end();
}
