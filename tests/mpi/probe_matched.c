// SPDX-License-Identifier: Apache-2.0
// No other call receives a message matched by MPI_Mprobe.
// ranks: 1 2 3
#include "check.h"

static void take(int bytes, int blocking) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc(2 * (size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request sending[2], receiving;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  for (int i = 0; i < 2; ++i) {
    fill(out + (size_t)i * (size_t)bytes, (size_t)bytes, (unsigned)(rank * 2 + i));
    OK(MPI_Isend(out + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD,
                 &sending[i]));
  }
  if (blocking) {
    OK(MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
  } else {
    for (int flag = 0; !flag;)
      OK(MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &message, &status));
  }
  CHECK(message != MPI_MESSAGE_NULL);
  check_status(&status, left, 5, MPI_BYTE, bytes);
  OK(MPI_Recv(in, bytes, MPI_BYTE, left, 5, MPI_COMM_WORLD, &status));
  CHECK_FILLED(in, (size_t)bytes, (unsigned)(left * 2 + 1));
  if (blocking) {
    OK(MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status));
  } else {
    OK(MPI_Imrecv(in, bytes, MPI_BYTE, &message, &receiving));
    OK(MPI_Wait(&receiving, &status));
  }
  CHECK(message == MPI_MESSAGE_NULL);
  check_status(&status, left, 5, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)(left * 2));
  OK(MPI_Waitall(2, sending, MPI_STATUSES_IGNORE));
  free(out);
  free(in);
}

static void no_process(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
  OK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
}

static void need_matched_probe(void) {
  int flag = 0;
  MPI_Message message;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const int code = MPI_Improbe(0, 0, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
  if (class_of(code) != MPI_ERR_UNSUPPORTED_OPERATION) return;
  if (rank == 0) printf("matched probe is not there yet\n");
  MPI_Finalize();
  exit(77);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  need_matched_probe();
  for (int i = 0; i < kSizeCount; i += 2)
    for (int blocking = 0; blocking < 2; ++blocking) {
      take(kSizes[i], blocking);
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
  no_process();
  return end();
}
