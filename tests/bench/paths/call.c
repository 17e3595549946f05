// SPDX-License-Identifier: Apache-2.0
// call NAME FOLDER: warms a call, then records nine calls: FOLDER/0 ... FOLDER/8 (rank 0).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void paths_record(const char* file);

enum { kBytes = 65536, kWarm = 30, kRecorded = 9 };
static char in[kBytes], out[kBytes];
static int rank;

static void send_8(void) {
  if (rank == 0)
    MPI_Send(in, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  else
    MPI_Recv(out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void allreduce(int bytes) {
  MPI_Allreduce(in, out, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void allreduce_8(void) { allreduce(8); }
static void allreduce_64k(void) { allreduce(kBytes); }
static void iallreduce_8(void) {
  MPI_Request request;
  MPI_Iallreduce(in, out, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*run)(void);
} kCalls[] = {{"send_8", send_8},
              {"allreduce_8", allreduce_8},
              {"allreduce_64k", allreduce_64k},
              {"iallreduce_8", iallreduce_8}};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  size_t which = 0;
  while (which < sizeof kCalls / sizeof *kCalls && strcmp(kCalls[which].name, argv[1]) != 0)
    ++which;
  if (which == sizeof kCalls / sizeof *kCalls) {
    fprintf(stderr, "call: no call %s\n", argv[1]);
    return 2;
  }
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kWarm + kRecorded; ++i) {
    // Rank 0 comes last and waits for no peer.
    MPI_Barrier(MPI_COMM_WORLD);
    const struct timespec late = {0, 20000000};
    if (rank == 0) nanosleep(&late, NULL);
    const int records = rank == 0 && i >= kWarm;
    if (records) paths_record(NULL);
    kCalls[which].run();
    if (records) {
      char file[4096];
      snprintf(file, sizeof file, "%s/%d", argv[2], i - kWarm);
      paths_record(file);
    }
  }
  MPI_Finalize();
  return 0;
}
