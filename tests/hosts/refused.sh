# SPDX-License-Identifier: Apache-2.0
# Without transports to other hosts, a message to another host fails with the reason, and the job ends.
# messages: no
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >send.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
// Rank 0 sends to rank argv[1]; rank argv[2] comes late, so the other one speaks first.
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2 && rank == atoi(argv[2])) sleep(5);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, atoi(argv[1]), 0, MPI_COMM_WORLD);
  if (rank == atoi(argv[1])) MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END
# Excludes transports that reach other hosts.
if "$PREFIX/bin/tern_info" | grep -Eq '^  (ucx|ofi) +works'; then export TERN_TRANSPORT=sm; fi
refused() { # refused RANK OTHER: RANK reports OTHER as unreachable
  local got=0
  job 2x2 ./send 2 "$2" >out 2>&1 || got=$?
  cat out
  echo "exit $got"
  [ $got = 16 ] && grep -q "no transport reaches rank $2, which is on another host" out
}
check "mpicc" "$MPICC" send.c -o send
check "a message within a host" job 2x2 ./send 1
check "a message to another host" refused 0 2
check "a message from another host" refused 2 0
totals
