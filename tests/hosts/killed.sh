# SPDX-License-Identifier: Apache-2.0
# A killed rank ends the job within seconds, on any host and during any call of other ranks.
# messages: no
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >waits.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank;
  char name[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%d.pid", rank);
  FILE* file = fopen(name, "w");
  fprintf(file, "%d\n", (int)getpid());  // in its host's PID namespace
  fclose(file);
  if (argc > 1 && !strcmp(argv[1], "finalize") && rank < 2) MPI_Finalize();
  sleep(60);
  return 0;
}
END
# killed RANK WORD...: kills the rank after all ranks have started; the job must end within 10 seconds.
killed() {
  local rank=$1 pid i start
  shift
  rm -f ./*.pid
  limit=50 job 2x2 ./waits "$@" >out 2>&1 &
  for ((i = 0; i < 200; i++)); do [ "$(cat ./*.pid 2>/dev/null | wc -l)" = 4 ] && break; sleep 0.1; done
  pid=$(cat "$rank.pid")
  (on_host h$((rank / 2 + 1)) kill -9 "$pid") || return
  start=$(date +%s%N)
  wait $!
  i=$?
  cat out
  start=$((($(date +%s%N) - start) / 1000000))
  echo "exit $i, $start ms after the kill"
  [ $i != 0 ] && [ $start -le 10000 ]
}
check "mpicc" "$MPICC" waits.c -o waits
check "a rank on the second host" killed 3
check "rank 0" killed 0
check "a rank of the second host while others are in MPI_Finalize" killed 2 finalize
totals
