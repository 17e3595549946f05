// SPDX-License-Identifier: Apache-2.0
// Standard, synchronous and ready sends, with sizes around every threshold.
// ranks: 1 2 3
// full-ranks: 4 8
// timeout: 120
#include "check.h"

enum Mode { kStandard, kSynchronous, kReady, kModes };
static char *out, *in;

static void send(enum Mode mode, int bytes, int to, int tag) {
  if (mode == kStandard) OK(MPI_Send(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
  if (mode == kSynchronous) OK(MPI_Ssend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
  if (mode == kReady) OK(MPI_Rsend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
}

static void isend(enum Mode mode, int bytes, int to, int tag, MPI_Request* request) {
  if (mode == kStandard) OK(MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
  if (mode == kSynchronous) OK(MPI_Issend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
  if (mode == kReady) OK(MPI_Irsend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request));
}

// `early` posts the receive first, as ready mode requires.
static void shift(enum Mode mode, int bytes, int blocking, int early, int tag) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request sending, receiving;
  MPI_Status status;
  fill(out, (size_t)bytes, (unsigned)(tag + rank));
  memset(in, 0x5a, (size_t)bytes + 8);
  if (early) {
    OK(MPI_Irecv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &receiving));
    if (mode == kReady) OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (blocking && early)
    send(mode, bytes, right, tag);
  else
    isend(mode, bytes, right, tag, &sending);
  if (early)
    OK(MPI_Wait(&receiving, &status));
  else
    OK(MPI_Recv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
  if (!(blocking && early)) OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  check_status(&status, left, tag, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)(tag + left));
  CHECK(untouched(in, (size_t)bytes, (size_t)bytes + 8, 0x5a));
}

static void larger_room(int bytes, int tag) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request sending;
  MPI_Status status;
  fill(out, (size_t)bytes, (unsigned)(tag + rank));
  memset(in, 0x5a, (size_t)kLargest + 8);
  isend(kStandard, bytes, right, tag, &sending);
  OK(MPI_Recv(in, kLargest, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  check_status(&status, left, tag, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)(tag + left));
  CHECK(untouched(in, (size_t)bytes, (size_t)kLargest, 0x5a));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = malloc(kLargest + 8);
  in = malloc(kLargest + 8);
  int tag = 0;
  for (int i = 0; i < kSizeCount; ++i) {
    for (int mode = 0; mode < kModes; ++mode)
      for (int blocking = 0; blocking < 2; ++blocking) {
        shift((enum Mode)mode, kSizes[i], blocking, 1, ++tag);
        if (mode != kReady) shift((enum Mode)mode, kSizes[i], blocking, 0, ++tag);
      }
    if (kSizes[i] < 200000 || size <= 2) larger_room(kSizes[i], ++tag);
  }
  free(out);
  free(in);
  return end();
}
