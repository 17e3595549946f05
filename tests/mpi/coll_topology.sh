# SPDX-License-Identifier: Apache-2.0
# TERN_TOPOLOGY: ranks with equal graphs run, whatever their files look like; other graphs, and files
# that are no graph, are named.
# timeout: 120
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >sum.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != 1;
}
C
"$MPICC" -o sum sum.c || exit 1
printf 'gpu a b\nlink a b 25 3\n' >one
printf '# the same\ngpu a\ngpu b\n\noneway b a 25.0 3\noneway a b 25 3.000\n' >same
printf 'gpu a b\nlink a b 50 3\n' >other
printf 'gpu a b\nlink a b fast 3\n' >bad

pair() { # pair FILE FILE: two ranks with a file each, or none
  timeout 30 "$MPIRUN" -n 1 env ${1:+TERN_TOPOLOGY=$1} ./sum : -n 1 env ${2:+TERN_TOPOLOGY=$2} ./sum 2>&1
}
refused() { # refused PATTERN FILE FILE
  local text status=0
  text=$(pair "$2" "$3") || status=$?
  printf '%s\n' "$text"
  [ "$status" != 0 ] && [ "$status" != 124 ] && grep -q -e "$1" <<<"$text"
}
check "equal graphs of two files" pair one same
check "no graphs" pair "" ""
check "a known machine" pair dgx-h100 dgx-h100
check "another graph" refused "differ in parameters.*or in the graph of TERN_TOPOLOGY" one other
check "a rank without a graph" refused "graph of TERN_TOPOLOGY" one ""
check "no graph" refused "TERN_TOPOLOGY: bad:2: bandwidth in GB/s must be a number" bad one
check "no file" refused "TERN_TOPOLOGY: the topology ./missing cannot be read" ./missing ./missing
check "tern_coll prints the graph" says "^link a b 25 3$" "$PREFIX/bin/tern_coll" topology same
totals
