// SPDX-License-Identifier: Apache-2.0
// TERN_PROGRESS=thread: large messages advance while a rank computes.
// ranks: 2
// env: TERN_PROGRESS=thread
#include "check.h"

enum { kBytes = 1 << 20, kRounds = 3 };
static const double kCompute = 0.4;

static void compute(void) {
  const double begin = MPI_Wtime();
  volatile double sum = 0;
  while (MPI_Wtime() - begin < kCompute) sum += 1;
}

static double seconds_beside(int busy, int busy_sends) {
  static char data[kBytes];
  double best = 10;
  for (unsigned round = 0; round < kRounds; ++round) {
    const int sends = (rank == busy) == busy_sends;
    const unsigned salt = round * 10 + (unsigned)busy * 2 + (unsigned)busy_sends;
    MPI_Request request;
    if (sends) fill(data, kBytes, salt);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == busy) {
      if (sends)
        OK(MPI_Isend(data, kBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request));
      else
        OK(MPI_Irecv(data, kBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request));
      compute();
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      const double begin = MPI_Wtime();
      if (sends)
        OK(MPI_Send(data, kBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD));
      else
        OK(MPI_Recv(data, kBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const double took = MPI_Wtime() - begin;
      if (took < best) best = took;
    }
    if (!sends) CHECK_FILLED(data, kBytes, salt);
  }
  return best;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int busy = 0; busy < 2; ++busy)
    for (int busy_sends = 0; busy_sends < 2; ++busy_sends) {
      const double seconds = seconds_beside(busy, busy_sends);
      if (rank != busy && seconds >= kCompute * 0.75)
        fprintf(stderr, "rank %d %s: %.3f s beside a rank that computes\n", busy,
                busy_sends ? "sends" : "receives", seconds);
      if (rank != busy) CHECK(seconds < kCompute * 0.75);
    }
  return end();
}
