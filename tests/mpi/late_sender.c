// SPDX-License-Identifier: Apache-2.0
// A receive of at most 63 KiB does not wait for a sender outside MPI.
// ranks: 2
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 63 << 10, kAway = 60000 };
static char out[2 * kMost], in[2 * kMost];

typedef void Begin(int bytes, MPI_Request* request);
static MPI_Datatype holes_of(int bytes) {
  MPI_Datatype type;
  OK(MPI_Type_vector(bytes / 64, 64, 128, MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  return type;
}
static void block(int bytes, MPI_Request* request) {
  if (rank == 0)
    OK(MPI_Isend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request));
  else
    OK(MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request));
}
static void synchronous(int bytes, MPI_Request* request) {
  if (rank == 0)
    OK(MPI_Issend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request));
  else
    OK(MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request));
}
static void holes(int bytes, MPI_Request* request) {
  MPI_Datatype type = holes_of(bytes);
  if (rank == 0)
    OK(MPI_Isend(out, 1, type, 1, 0, MPI_COMM_WORLD, request));
  else
    OK(MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request));
  OK(MPI_Type_free(&type));
}
static void broadcast(int bytes, MPI_Request* request) {
  OK(MPI_Ibcast(rank == 0 ? out : in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request));
}

// A busy core delays some tries, so one short time of ten is enough.
static double waits(Begin* begin, int bytes) {
  double seconds = 1e9;
  for (int turn = 0; turn < 10 && seconds > 0.5e-6 * kAway; ++turn) {
    MPI_Request request;
    memset(in, 0, sizeof in);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    begin(bytes, &request);
    if (rank == 0) usleep(kAway);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    seconds = MPI_Wtime() - start;
    if (rank == 1) CHECK(in[0] == 1 && in[bytes - 1] == 1);
    OK(MPI_Bcast(&seconds, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD));
  }
  return seconds;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    Begin* begin;
  } ways[] = {{"one block", block},
              {"a synchronous send", synchronous},
              {"data with holes", holes},
              {"a broadcast", broadcast}};
  static const int sizes[] = {8192, 16384, 32768, kMost};
  begin(&argc, &argv);
  memset(out, 1, sizeof out);
  for (int way = 0; way < 4; ++way)
    for (int i = 0; i < 4; ++i) {
      const double seconds = waits(ways[way].begin, sizes[i]);
      if (rank == 1 && seconds > 0.5e-6 * kAway)
        FAIL("%s of %d bytes came after %.1f ms", ways[way].name, sizes[i], seconds * 1e3);
    }
  return end();
}
