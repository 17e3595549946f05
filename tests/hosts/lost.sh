# SPDX-License-Identifier: Apache-2.0
# A host without a link is lost within TERN_NET_TIMEOUT, with and without pending data; the remaining ranks go on under
# MPI_ERRORS_RETURN, and finalize. A link down for five seconds loses nothing.
# launchers: slurm
# timeout: 200
# full: yes
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'net h2 up; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >talks.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Ranks 0 and 1 are on h1, 2 and 3 on h2. WAY of 0 with 2: send (rank 0 has data under way), receive (it only waits), talk. */
static int rank, buffer[262144];
static void said(const char* what) {
  printf("rank %d %s\n", rank, what);
  fflush(stdout);
}
static int exchange(const char* way) {
  if (strcmp(way, "send") == 0)
    return rank == 0 ? MPI_Send(buffer, 262144, MPI_INT, 2, 0, MPI_COMM_WORLD)
                     : MPI_Recv(buffer, 262144, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int number = 0, code = MPI_SUCCESS;
  if (rank == 0 && strcmp(way, "talk") == 0) code = MPI_Send(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
  if (code == MPI_SUCCESS && rank == 0)
    return MPI_Recv(&number, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) return code;
  if (strcmp(way, "talk") == 0) MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(way, "receive") == 0) sleep(100);
  return MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int first = rank, peer = 2 - rank;
  int other;
  const int talks = rank % 2 == 0;
  if (talks)
    MPI_Sendrecv(&first, 1, MPI_INT, peer, 9, &other, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) said("begins");
  int code = MPI_SUCCESS, rounds = strcmp(argv[1], "talk") == 0 ? 700 : 1000000;
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds && talks && code == MPI_SUCCESS; ++i) {
    if (strcmp(argv[1], "talk") == 0) usleep(10000);
    code = exchange(argv[1]);
  }
  int error_class = MPI_SUCCESS, number = 7;
  MPI_Error_class(code, &error_class);
  if (rank == 0 && error_class == MPI_ERR_PROC_ABORTED) said("has lost its peer");
  if (rank == 0 && code == MPI_SUCCESS) said("has talked to the end");
  if (rank == 0) printf("after %.1f s\n", MPI_Wtime() - start);
  /* The others are there. */
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1 && number == 7) said("goes on");
  MPI_Finalize();
  said("has left");
  return 0;
}
END
# without_link SECONDS WAY: the output of a job; unplugs h2's cable for this time after the ranks have begun.
without_link() {
  local seconds=$1 i
  shift
  limit=$((seconds + 25)) TERN_NET_TIMEOUT=8s job 2x2 ./talks "$@" >out 2>&1 &
  for ((i = 0; i < 200; i++)); do grep -q begins out && break; sleep 0.1; done
  sleep 0.5
  net h2 down
  sleep "$seconds"
  net h2 up
  wait $!
  i=$?
  cat out
  return $i
}
check "mpicc" "$MPICC" talks.c -o talks
loses() {
  without_link 16 "$1"
  grep -q "rank 0 has lost its peer" out && grep -q "rank 1 goes on" out && grep -Eq "is lost: (ucx|ofi)" out &&
    awk '/^after/ { exit !($2 > 2 && $2 < 13) }' out  # TERN_NET_TIMEOUT plus a margin
}
check "data under way" loses send
case $TERN_TRANSPORT in *ucx*) TERN_TEST=net_put=1 check "data under way by RDMA" loses send ;; esac
check "a receive that waits" loses receive
lasts() { without_link 5 talk && grep -q "rank 0 has talked to the end" out; }
check "five seconds without a link" lasts
totals
