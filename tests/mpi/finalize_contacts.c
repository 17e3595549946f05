// SPDX-License-Identifier: Apache-2.0
// First messages on many communicators before MPI_Finalize: the receiver answers with communicator
// indices, and the sender in MPI_Finalize makes room.
// ranks: 2 4
// timeout: 20
#include <unistd.h>

#include "check.h"

enum { kComms = 300 };

// The ring to odd ranks fills quickly.
static void choose_rings(void) {
  const char* me = getenv("PMIX_RANK");
  setenv("TERN_TEST", me != NULL && atoi(me) % 2 == 0 ? "sm_ring=65536" : "sm_ring=4096", 1);
}

int main(int argc, char** argv) {
  static MPI_Comm comms[kComms];
  choose_rings();
  begin(&argc, &argv);
  for (int i = 0; i < kComms; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  if (rank % 2 == 1) {
    for (int i = 0; i < kComms; ++i) OK(MPI_Send(&i, 1, MPI_INT, rank - 1, 1, comms[i]));
  } else if (rank + 1 < size) {
    usleep(200000);
    for (int i = 0; i < kComms; ++i) {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, rank + 1, 1, comms[i], MPI_STATUS_IGNORE));
      CHECK_EQ(got, i);
    }
  }
  return end();
}
