// SPDX-License-Identifier: Apache-2.0
// Unusual arguments of windows: absolute types, displacements below 0, null buffers, overflowing
// byte counts, types of MPI_Type_create_f90_integer, gaps inside elements, different alignments per
// rank.
// ranks: 2
// variant: messages
//   Windows by messages, without mappings.
//   env: TERN_TEST=rma=messages
#include <stdint.h>

#include "check.h"

static void dynamic(void) {
  MPI_Win win;
  MPI_Datatype absolute;
  MPI_Aint place, places[2];
  long memory[4] = {0};
  const long value = 7;
  const int next = (rank + 1) % size;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_attach(win, memory, sizeof memory));
  OK(MPI_Get_address(&memory[1], &place));
  OK(MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  const int one = 1;
  OK(MPI_Type_create_hindexed(1, &one, &places[next], MPI_LONG, &absolute));
  OK(MPI_Type_commit(&absolute));
  OK(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, absolute, win));
  OK(MPI_Win_flush(next, win));
  CHECK_EQ(class_of(MPI_Put(&value, 1, MPI_LONG, rank, -8, 1, MPI_LONG, win)), MPI_ERR_RMA_RANGE);
  int code = MPI_Put(&value, 1, MPI_LONG, next, -8, 1, MPI_LONG, win);
  const int flushed = MPI_Win_flush(next, win);
  if (code == MPI_SUCCESS) code = flushed;
  CHECK_EQ(class_of(code), MPI_ERR_RMA_RANGE);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(memory[1], 7);
  OK(MPI_Type_free(&absolute));
  OK(MPI_Win_detach(win, memory));
  OK(MPI_Win_free(&win));
}

static void buffers(MPI_Win win) {
  int value = 1, old = 0;
#define NULL_IS_REFUSED(call) CHECK_EQ(class_of(call), MPI_ERR_BUFFER)
  NULL_IS_REFUSED(MPI_Fetch_and_op(&value, NULL, MPI_INT, 0, 0, MPI_SUM, win));
  NULL_IS_REFUSED(MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, 0, MPI_SUM, win));
  NULL_IS_REFUSED(MPI_Compare_and_swap(NULL, &value, &old, MPI_INT, 0, 0, win));
  NULL_IS_REFUSED(MPI_Compare_and_swap(&value, NULL, &old, MPI_INT, 0, 0, win));
  NULL_IS_REFUSED(MPI_Compare_and_swap(&value, &value, NULL, MPI_INT, 0, 0, win));
  OK(MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, 0, MPI_NO_OP, win));
  OK(MPI_Win_flush(0, win));
  const MPI_Count many = ((MPI_Count)1 << 62) + 1;
  CHECK_EQ(class_of(MPI_Put_c(&value, many, MPI_INT, 0, 0, 1, MPI_INT, win)), MPI_ERR_TYPE);
  CHECK_EQ(class_of(MPI_Get_c(&value, many, MPI_INT, 0, 0, 1, MPI_INT, win)), MPI_ERR_TYPE);
}

static void fortran_types(MPI_Win win) {
  MPI_Datatype integer;
  int value = 1, old = 0;
  OK(MPI_Type_create_f90_integer(9, &integer));
  OK(MPI_Fetch_and_op(&value, &old, integer, 0, 0, MPI_SUM, win));
  OK(MPI_Compare_and_swap(&value, &value, &old, integer, 0, 0, win));
  OK(MPI_Win_flush(0, win));
}

static void gaps(MPI_Win win, unsigned char* memory) {
  struct {
    short value;
    int index;
  } pair;
  memset(&pair, 0xff, sizeof pair);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  memset(memory, 0x11, 16);
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0)
    OK(MPI_Accumulate(&pair, 1, MPI_SHORT_INT, 1, 0, 1, MPI_SHORT_INT, MPI_REPLACE, win));
  OK(MPI_Win_flush_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_sync(win));
  if (rank == 1) {
    CHECK_EQ(memory[1], 0xff);
    CHECK_EQ(memory[2], 0x11);
    CHECK_EQ(memory[4], 0xff);
  }
}

static void alignments(void) {
  MPI_Win win;
  MPI_Info info;
  char* memory;
  const int value = 77;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", rank == 0 ? "64" : "65536"));
  OK(MPI_Win_allocate(rank == 0 ? 64 : 4 << 20, 1, info, MPI_COMM_WORLD, &memory, &win));
  *(int*)memory = 0;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK_EQ(*(int*)memory, 77);
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win win;
  unsigned char* memory;
  dynamic();
  OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  buffers(win);
  fortran_types(win);
  gaps(win, memory);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  alignments();
  return end();
}
