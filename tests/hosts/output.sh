# SPDX-License-Identifier: Apache-2.0
# The output of ranks on all hosts reaches the launcher complete, with separate streams, and so does the exit code.
# messages: no
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >talks.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(host, &length);
  for (int i = 0; i < 2000; ++i) printf("%s %d: line %d\n", host, rank, i);
  fprintf(stderr, "%s %d says %s\n", host, rank, getenv("WORD"));
  MPI_Finalize();
  return argc > 1 && rank == atoi(argv[1]) ? 7 : 0;
}
END
cat >aborts.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 9);
  sleep(60);
  return 0;
}
END
lines() {
  WORD='a b' job 2x2 ./talks >out 2>errors || { cat errors; return 1; }
  local rank i
  for rank in 0 1 2 3; do for i in {0..1999}; do echo "h$((rank / 2 + 1)) $rank: line $i"; done; done | sort >wanted
  sort out | diff - wanted
}
words() { grep ' says ' errors | sort | diff - <(printf 'h%d %d says a b\n' 1 0 1 1 2 2 2 3); }
exits() { # exits WANTED COMMAND...
  local wanted=$1 got=0
  shift
  "$@" >out 2>&1 || got=$?
  tail -n 20 out
  echo "exit $got"
  [ "$got" = "$wanted" ]
}
aborted() {
  local start=$SECONDS got=0
  job 2x2 ./aborts >out 2>&1 || got=$?
  cat out
  echo "exit $got after $((SECONDS - start)) s"
  [ "$got" = "$1" ] && [ $((SECONDS - start)) -le 10 ]
}
check "mpicc" sh -c "'$MPICC' talks.c -o talks && '$MPICC' aborts.c -o aborts"
check "2,000 lines of each rank, from both hosts" lines
check "what they say on stderr comes there, with the environment" words
check "the exit code of a rank on the second host" exits 7 job 2x2 ./talks 3
check "and of one on the first" exits 7 job 2x2 ./talks 0
check "MPI_Abort(9) on the second host ends the job" aborted 9
totals
