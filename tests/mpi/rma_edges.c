// SPDX-License-Identifier: Apache-2.0
// Operations at the edges of a rank's memory: one byte too far, overflowing displacements and
// counts, misaligned elements.
// ranks: 2 3
// variant: messages
//   Windows by messages, without mappings.
//   ranks: 2
//   env: TERN_TEST=rma=messages
// variant: network
//   RDMA, emulated by UCX between ranks of a host.
//   ranks: 2
//   env: TERN_TRANSPORT=ucx TERN_TEST=rma=network
#include <stdint.h>

#include "check.h"

enum { kStripe = 1 << 16, kBytes = 2 * kStripe };

static MPI_Win win;
static int target;

static void refused(int code) { CHECK_EQ(class_of(code), MPI_ERR_RMA_RANGE); }

static void blocks(void) {
  char from[64], to[64];
  memset(from, 7, sizeof from);
  memset(to, 0, sizeof to);
  OK(MPI_Put(from, 64, MPI_BYTE, target, kBytes - 64, 64, MPI_BYTE, win));
  OK(MPI_Win_flush(target, win));
  OK(MPI_Get(to, 64, MPI_BYTE, target, kBytes - 64, 64, MPI_BYTE, win));
  OK(MPI_Win_flush(target, win));
  CHECK_EQ(memcmp(from, to, sizeof to), 0);
  refused(MPI_Put(from, 64, MPI_BYTE, target, kBytes - 63, 64, MPI_BYTE, win));
  refused(MPI_Put(from, 1, MPI_BYTE, target, kBytes, 1, MPI_BYTE, win));
  refused(MPI_Put(from, 1, MPI_BYTE, target, -1, 1, MPI_BYTE, win));
  refused(MPI_Get(to, 1, MPI_BYTE, target, INT64_MAX, 1, MPI_BYTE, win));
  refused(MPI_Get(to, 1, MPI_BYTE, target, INT64_MIN, 1, MPI_BYTE, win));
  refused(MPI_Get_c(to, INT64_MAX, MPI_BYTE, target, 1, INT64_MAX, MPI_BYTE, win));
  CHECK(MPI_Put_c(from, INT64_MAX / 4, MPI_DOUBLE, target, 0, INT64_MAX / 4, MPI_DOUBLE, win) !=
        MPI_SUCCESS);
  CHECK_EQ(class_of(MPI_Put(from, 8, MPI_BYTE, target, 0, 1, MPI_INT, win)), MPI_ERR_TYPE);
  OK(MPI_Put(from, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, win));
  OK(MPI_Put(from, 4, MPI_BYTE, target, 0, 1, MPI_INT, win));
}

static void elements(void) {
  double ones[16], old[16];
  for (int i = 0; i < 16; ++i) ones[i] = 1;
  const MPI_Aint across = kStripe - 64, odd = kStripe - 67;
  const MPI_Aint places[2] = {across, odd};
  for (int place = 0; place < 2; ++place) {
    double zeros[16] = {0};
    OK(MPI_Put(zeros, 16, MPI_DOUBLE, target, places[place], 16, MPI_DOUBLE, win));
    OK(MPI_Win_flush(target, win));
    OK(MPI_Accumulate(ones, 16, MPI_DOUBLE, target, places[place], 16, MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Get_accumulate(ones, 16, MPI_DOUBLE, old, 16, MPI_DOUBLE, target, places[place], 16,
                          MPI_DOUBLE, MPI_SUM, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < 16; ++i) CHECK_EQ((int)old[i], 1);
    OK(MPI_Fetch_and_op(NULL, old, MPI_DOUBLE, target, places[place] + 120, MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    CHECK_EQ((int)old[0], 2);
  }
  refused(MPI_Accumulate(ones, 2, MPI_DOUBLE, target, kBytes - 8, 2, MPI_DOUBLE, MPI_SUM, win));
  refused(MPI_Fetch_and_op(ones, old, MPI_DOUBLE, target, kBytes - 7, MPI_SUM, win));
  CHECK_EQ(class_of(MPI_Accumulate(ones, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_NO_OP, win)),
           MPI_ERR_OP);
  CHECK_EQ(class_of(MPI_Accumulate(ones, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_BAND, win)),
           MPI_ERR_OP);
}

static void swaps(void) {
  const int16_t small = 3, zero16 = 0;
  const int64_t large = 5, zero64 = 0;
  int16_t old16 = 1;
  int64_t old64 = 1, swapped = 0;
  OK(MPI_Put(&zero64, 8, MPI_BYTE, target, kBytes - 8, 8, MPI_BYTE, win));
  OK(MPI_Win_flush(target, win));
  OK(MPI_Compare_and_swap(&small, &zero16, &old16, MPI_INT16_T, target, kBytes - 2, win));
  OK(MPI_Compare_and_swap(&large, &zero64, &old64, MPI_INT64_T, target, kBytes - 8, win));
  OK(MPI_Win_flush(target, win));
  CHECK_EQ(old16, 0);
  CHECK_EQ(old64, (int64_t)3 << 48);
  OK(MPI_Compare_and_swap(&large, &old64, &swapped, MPI_INT64_T, target, kBytes - 8, win));
  OK(MPI_Win_flush(target, win));
  CHECK_EQ(swapped, old64);
  OK(MPI_Get(&swapped, 1, MPI_INT64_T, target, kBytes - 8, 1, MPI_INT64_T, win));
  OK(MPI_Win_flush(target, win));
  CHECK_EQ(swapped, large);
  refused(MPI_Compare_and_swap(&large, &zero64, &old64, MPI_INT64_T, target, kBytes - 7, win));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char* memory = NULL;
  target = (rank + 1) % size;
  OK(MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  blocks();
  elements();
  swaps();
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(memory[0], 7);
  OK(MPI_Win_free(&win));
  return end();
}
