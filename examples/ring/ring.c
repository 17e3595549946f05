/* SPDX-License-Identifier: Apache-2.0
 * Passes a token of 8 bytes round all ranks, prints the time per hop and checks the token.
 * Why: a ring tests waiting, because only one rank works at any moment.
 * ranks: 1 2 4 8
 * args: 200
 * expect-stdout: token \d+ as expected */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTokenTag = 7 };

/* One round from rank 0. Every rank adds one, so the token returns as `token + size`. */
static long pass_token(long token, int rank, int size) {
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  long incoming = 0;
  if (rank == 0) {
    ++token;
    MPI_Sendrecv(&token, 1, MPI_LONG, right, kTokenTag, &incoming, 1, MPI_LONG, left, kTokenTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return incoming;
  }
  MPI_Recv(&incoming, 1, MPI_LONG, left, kTokenTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ++incoming;
  MPI_Send(&incoming, 1, MPI_LONG, right, kTokenTag, MPI_COMM_WORLD);
  return token;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long rounds = argc > 1 ? atol(argv[1]) : 1000;
  if (rounds < 1) {
    if (rank == 0)
      fprintf(stderr, "usage: ring [ROUNDS], with ROUNDS at least 1 (got '%s')\n", argv[1]);
    MPI_Finalize();
    return 2;
  }

  pass_token(0, rank, size); /* opens the connections */
  const double start = MPI_Wtime();
  long token = 0;
  for (long i = 0; i < rounds; ++i) token = pass_token(token, rank, size);
  const double seconds = MPI_Wtime() - start;

  int wrong = 0;
  if (rank == 0) {
    const long expected = rounds * size;
    wrong = token != expected;
    if (wrong)
      fprintf(stderr, "ring: the token is %ld after %ld rounds of %d ranks, expected %ld\n", token,
              rounds, size, expected);
    else
      printf("%ld rounds of %d ranks: %.3f us per hop, token %ld as expected\n", rounds, size,
             seconds / ((double)rounds * size) * 1e6, token);
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
