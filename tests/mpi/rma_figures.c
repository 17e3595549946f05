// SPDX-License-Identifier: Apache-2.0
// Performance variables count the operations on windows per path.
// ranks: 2
// transport: sm, other hosts are reached by messages
#include "check.h"

static MPI_T_pvar_session session;

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

static void operate(MPI_Win win) {
  const int next = (rank + 1) % size, one = 1;
  int old;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    for (int i = 0; i < 10; ++i) {
      OK(MPI_Put(&one, 1, MPI_INT, next, 0, 1, MPI_INT, win));
      OK(MPI_Win_flush(next, win));
      OK(MPI_Fetch_and_op(&one, &old, MPI_INT, next, 0, MPI_SUM, win));
      OK(MPI_Win_flush(next, win));
    }
    OK(MPI_Win_unlock(next, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int provided, memory[4] = {0}, *allocated;
  MPI_Win created, mapped;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated,
                      &mapped));
  OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created));
  MPI_T_pvar_handle by_map = handle_of("rma_mapped"), by_copy = handle_of("rma_copied"),
                    by_target = handle_of("rma_by_target"),
                    by_message = handle_of("rma_by_messages");
  operate(mapped);
  CHECK_EQ(read_one(by_map), rank == 0 ? 20 : 0);
  CHECK_EQ(read_one(by_copy) + read_one(by_message), 0);
  operate(created);
  CHECK_EQ(read_one(by_map), rank == 0 ? 20 : 0);
  CHECK_EQ(read_one(by_copy) + read_one(by_message), rank == 0 ? 20 : 0);
  CHECK(read_one(by_target) <= read_one(by_copy));
  OK(MPI_Win_free(&created));
  OK(MPI_Win_free(&mapped));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return end();
}
