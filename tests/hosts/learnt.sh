# SPDX-License-Identifier: Apache-2.0
# Measurements kept over hosts (TERN_COLL_LEARNT): rank 0 reads and writes the file, and ranks of the other host take rank 0's
# lines. A file of the same name on the other host is ignored.
# timeout: 120
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >calls.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  static double in[1024], out[4096];
  MPI_Comm turned;  // the last rank of the world explains
  int rank, right = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 1024; ++i) in[i] = rank;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_set_name(turned, "turned");
  for (int i = 0; i < atoi(argv[1]); ++i) MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, turned);
  for (int i = 0; i < 4096; ++i) right = right && out[i] == 3 - i / 1024;
  if (!right) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Comm_free(&turned);
  MPI_Finalize();
  return 0;
}
C
check "mpicc" "$MPICC" calls.c -o calls
# Each host has a separate file.
calls() { limit=60 job 2x2 env "${@:2}" sh -c 'exec env "TERN_COLL_LEARNT=$PWD/learnt-$(hostname)" ./calls "$0"' "$1" 2>&1; }
check "a job that learns" calls 300 TERN_COLL_TUNE=learn
written() { ls learnt-* && ! ls learnt-h2* && grep -q '^allgather 4 4097\.\.8192 [a-z_]* many_hosts ' learnt-h1; }
check "writes a file on the first rank's host alone" written
head=$(sed -n '1s/[0-9]* lines$/1 lines/p' learnt-h1)
plant() { printf '%s\n' "$head" "$2" >"learnt-$1" && chmod 600 "learnt-$1"; }
plant h1 'allgather 4 any bruck many_hosts'
plant h2 'allgather 4 any linear many_hosts'
check "a later job takes the lines of the first rank's host" says 'rank 3\] allgather of 8192 bytes on 4 ranks: bruck .*(turned), by measurement' \
  calls 1 TERN_COLL_TUNE=auto TERN_EXPLAIN=1
check "and none when told so" eval '! calls 1 TERN_COLL_TUNE=off TERN_EXPLAIN=1 | grep "by measurement"'
rm -f learnt-h1
check "without a file there a job measures anew" eval '! calls 1 TERN_COLL_TUNE=auto TERN_EXPLAIN=1 | grep "by measurement"'
totals
