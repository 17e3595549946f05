// SPDX-License-Identifier: Apache-2.0
/* talks SECONDS [GRACE [MIB]]: each rank exchanges checked messages with each other rank for
 * SECONDS.
 *
 * Rank 0 prints "begins" after the first round, and "talked N rounds" at the end. A rank with
 * failed requests prints "rank R lost P after S s: TEXT" for each failed peer P, S seconds after
 * the last good round, sleeps for GRACE seconds (default 8: the others report, too), and exits
 * with 3. With MIB every third message has so many MiB, and comes from one of eight buffers in
 * turn: the network registers much memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kPeers = 64, kTurns = 8 };
static int sizes[] = {2, 300, 50000}; /* int */

static int rank, size, failed;
static int* buffers[kTurns][2 * kPeers];
static MPI_Request requests[2 * kPeers];
static MPI_Status statuses[2 * kPeers];

static void fill(int* words, int count, int from, int to, int round, int last) {
  words[0] = last;
  for (int i = 1; i < count; ++i) words[i] = from * 31 + to * 7 + round + i;
}

static void verify(const int* words, int count, int from, int round) {
  for (int i = 1; i < count; ++i)
    if (words[i] != from * 31 + rank * 7 + round + i) {
      printf("rank %d: WRONG DATA of rank %d in round %d, word %d of %d\n", rank, from, round, i,
             count);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
}

static void tell(int peer, int code, double since) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  printf("rank %d lost %d after %.1f s: %s\n", rank, peer, MPI_Wtime() - since, text);
  fflush(stdout);
  failed = 1;
}

/* Completes the requests; tells of failures at once. After the first, requests with others have two
 * seconds more: these may have stopped. */
static void complete(double since) {
  int done, indices[2 * kPeers];
  double end = 0;
  do {
    const int code = failed ? MPI_Testsome(2 * size, requests, &done, indices, statuses)
                            : MPI_Waitsome(2 * size, requests, &done, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) tell(-1, code, since);
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < done; ++i)
      if (statuses[i].MPI_ERROR != MPI_SUCCESS)
        tell(indices[i] % size, statuses[i].MPI_ERROR, since);
    if (failed && end == 0) end = MPI_Wtime() + 2;
    if (failed) usleep(1000);
  } while (done != MPI_UNDEFINED && (!failed || MPI_Wtime() < end));
}

/* Returns whether rank 0 has ended the talk. */
static int exchange(int round, int last, double since) {
  const int count = sizes[round % 3];
  int** const mine = buffers[round / 3 % kTurns]; /* to send, then received */
  for (int peer = 0; peer < size; ++peer) {
    requests[peer] = requests[size + peer] = MPI_REQUEST_NULL;
    if (peer == rank) continue;
    fill(mine[peer], count, rank, peer, round, last);
    int code = MPI_Irecv(mine[size + peer], count, MPI_INT, peer, 0, MPI_COMM_WORLD,
                         &requests[size + peer]);
    if (code == MPI_SUCCESS)
      code = MPI_Isend(mine[peer], count, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[peer]);
    if (code != MPI_SUCCESS) tell(peer, code, since);
  }
  complete(since);
  if (failed) return 1;
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) verify(mine[size + peer], count, peer, round);
  return rank == 0 ? last : mine[size][0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const double seconds = atof(argv[1]), start = MPI_Wtime();
  if (argc > 3) sizes[2] = atoi(argv[3]) << 18;
  for (int i = 0; i < 2 * size * kTurns; ++i)
    buffers[i % kTurns][i / kTurns] = malloc((size_t)sizes[2] * sizeof(int));
  double since = start;
  int round = 0;
  for (int ends = 0; !ends; ++round) {
    ends = exchange(round, MPI_Wtime() - start > seconds && round > 3, since);
    if (round == 0 && rank == 0 && !failed) {
      printf("begins\n");
      fflush(stdout);
    }
    since = MPI_Wtime();
  }
  if (failed) {
    sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 8);
    _exit(3);
  }
  if (rank == 0) printf("talked %d rounds\n", round);
  for (int i = 0; i < 2 * size * kTurns; ++i) free(buffers[i % kTurns][i / kTurns]);
  MPI_Finalize();
  return 0;
}
