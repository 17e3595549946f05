# SPDX-License-Identifier: Apache-2.0
# With fault tolerance, ranks that wait for a dead process of another host end with an error within a second, before and after
# the first contact; the survivors revoke, shrink, compute and leave. One process of the last host dies, or all do.
# launchers: prte
# timeout: 120
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >deaths.c <<'END'
#include <mpi.h>
#include <mpix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void require(int holds, const char* text, int value) {
  if (holds) return;
  printf("wrong: %s (%d)\n", text, value);
  exit(1);
}
/* deaths WAY VICTIMS met|unmet: the last VICTIMS ranks die. */
int main(int argc, char** argv) {
  int rank, size, in = 0, out = 1, flag = 1, code, error_class = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(argv[1], "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    sleep(60);
  }
  const int victims = atoi(argv[2]), living = size - victims;
  if (strcmp(argv[3], "met") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (rank >= living) {
    usleep(200000);
    raise(SIGKILL);
  }
  const double start = MPI_Wtime();
  if (strcmp(argv[1], "receive") == 0)
    code = MPI_Recv(&in, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (strcmp(argv[1], "any") == 0)
    code = MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (strcmp(argv[1], "allreduce") == 0)
    code = MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
  MPI_Error_class(code, &error_class);
  const int agrees = strcmp(argv[1], "agree") == 0;
  require(error_class == MPIX_ERR_PROC_FAILED || (!agrees && error_class == MPIX_ERR_REVOKED), "class", error_class);
  require(MPI_Wtime() - start < 1.2, "milliseconds of the wait", (int)((MPI_Wtime() - start) * 1e3));
  MPI_Comm survivors;
  int members, sum = 0;
  MPIX_Comm_revoke(MPI_COMM_WORLD);
  require(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) == MPI_SUCCESS, "shrink", 0);
  MPI_Comm_size(survivors, &members);
  require(members == living, "members", members);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, survivors);
  require(sum == living * (living - 1) / 2, "sum", sum);
  MPI_Group failed;
  int known;
  MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
  MPI_Group_size(failed, &known);
  require(known == victims, "failed members known", known);
  MPI_Group_free(&failed);
  MPI_Comm_free(&survivors);
  code = MPI_Finalize();
  require(code == MPI_SUCCESS, "MPI_Finalize", code);
  printf("rank %d left\n", rank);
  return 0;
}
END
prte_options="--rtos continuous,recoverable,notifyerrors"
export TERN_FT=1 prte_options
# survives SHAPE WAY VICTIMS met|unmet. A daemon of prterun sometimes fails at the start.
survives() {
  local code try
  for try in 1 2 3; do
    limit=20 job "$@" >out 2>&1
    code=$?
    grep -q "A daemon failed to report back" out || break
  done
  cat out
  [ $code = 0 ] && [ "$(grep -c "left$" out)" = $((${1%x*} * ${1#*x} - $4)) ]
}
check "mpicc" "$MPICC" deaths.c -o deaths
for way in receive any allreduce agree; do
  check "$way, never met" survives 2x1 ./deaths $way 1 unmet
  check "$way, met" survives 2x2 ./deaths $way 1 met
done
check "all ranks of a host" survives 2x2 ./deaths any 2 met
check "all ranks of a host, never met" survives 2x2 ./deaths agree 2 unmet
aborts() {
  local start=$SECONDS
  limit=20 job 2x2 ./deaths abort
  echo "exit $?, $((SECONDS - start)) s"
  [ $((SECONDS - start)) -lt 10 ]
}
check "MPI_Abort ends all ranks" aborts
totals
