// SPDX-License-Identifier: Apache-2.0
// Programs for trace.sh, one per word: calls with known records.
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpix.h"

static int rank, size;
static jmp_buf landing;

static void jump(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  longjmp(landing, *code);
}

static long long nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Rank 0 sends 300 ms late. Prints times of the trace's clock: before the send, before the receive,
// after the receive.
__attribute__((noinline)) static void late_sender(void) {
  int word = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    usleep(300000);
    printf("sent=%lld\n", nanoseconds(CLOCK_MONOTONIC));
    MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else if (rank == 1) {
    const long long before = nanoseconds(CLOCK_MONOTONIC);
    MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("before=%lld after=%lld\n", before, nanoseconds(CLOCK_MONOTONIC));
  }
}

static void messages(void) {
  int word = rank, other = -1;
  MPI_Request requests[4];
  const int peer = 1 - rank;
  if (rank > 1) return;
  // Wildcards and nonblocking receives, numbers by the order of matching.
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Ssend(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else {
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&other, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&other, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&other, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
  MPI_Sendrecv(&word, 1, MPI_INT, peer, 3, &other, 1, MPI_INT, peer, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  static char large[1 << 20], also[1 << 20];
  MPI_Isend(large, sizeof large, MPI_CHAR, peer, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(also, sizeof also, MPI_CHAR, peer, 4, MPI_COMM_WORLD, &requests[1]);
  int index;
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  // Persistent, twice.
  MPI_Send_init(&word, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&other, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  // A cancelled receive, a receive from no process.
  MPI_Irecv(&other, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Recv(&other, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collectives(void) {
  int one[8] = {0}, many[64];
  MPI_Comm dup, half;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(one, 8, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(dup, rank % 2, rank, &half);
  MPI_Iallreduce(MPI_IN_PLACE, one, 8, MPI_INT, MPI_SUM, dup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allgather(one, 2, MPI_INT, many, 2, MPI_INT, half);
  MPI_Comm_free(&half);
  MPI_Comm_free(&dup);
}

// Rank 1 polls for 50 ms. Prints the polls without success, the processor time of the loop and the
// time passed, in ns.
static void polls(void) {
  int word = 0;
  for (int i = 0; i < 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      usleep(50000);
      MPI_Send(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      continue;
    }
    MPI_Request request;
    if (i == 0) MPI_Irecv(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    const long long begin = nanoseconds(CLOCK_MONOTONIC),
                    busy = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    int flag = 0, vain = -1;
    for (; !flag; ++vain) {
      if (i == 0) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      if (i == 1) MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    printf("%s %d %lld %lld\n", i == 0 ? "MPI_Test" : "MPI_Iprobe", vain,
           nanoseconds(CLOCK_THREAD_CPUTIME_ID) - busy, nanoseconds(CLOCK_MONOTONIC) - begin);
    if (i == 1) MPI_Recv(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void errors(void) {
  int word = 0;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (setjmp(landing) == 0) MPI_Send(&word, 1, MPI_INT, size + 3, 1, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Send(&word, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  MPI_Errhandler_free(&handler);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void regions(void) {
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  MPIX_Trace_begin("solve");
  MPI_Barrier(MPI_COMM_WORLD);
  MPIX_Trace_end("solve");
}

static void windows(void) {
  int* memory;
  MPI_Win win;
  int value = rank;
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_File file;
  const char* const name = "trace_file.data";
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

// The test kills rank 1 in a receive.
static void killed(void) {
  int word = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    printf("%d\n", getpid());
    fflush(stdout);
    MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  sleep(30);
}

static void many(int count) {
  for (int i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "late_sender") == 0) late_sender();
  if (strcmp(what, "messages") == 0) messages();
  if (strcmp(what, "collectives") == 0) collectives();
  if (strcmp(what, "polls") == 0) polls();
  if (strcmp(what, "errors") == 0) errors();
  if (strcmp(what, "regions") == 0) regions();
  if (strcmp(what, "windows") == 0) windows();
  if (strcmp(what, "killed") == 0) killed();
  if (strcmp(what, "many") == 0) many(argc > 2 ? atoi(argv[2]) : 1000);
  MPI_Finalize();
  return 0;
}
