# SPDX-License-Identifier: Apache-2.0
# A rank that is killed in the middle of a collective ends the job, within seconds, with a status and a
# sentence: for every collective, small and large, blocking and not.
# timeout: 240
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >killed.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static void die(int signal) { raise(signal == SIGALRM ? SIGKILL : signal); }
enum { kMost = 1 << 18 };
int main(int argc, char** argv) {
  const int what = atoi(argv[1]), n = atoi(argv[2]);
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* in = calloc((size_t)kMost * 4, sizeof(int));
  int* out = calloc((size_t)kMost * 4, sizeof(int));
  const struct itimerval soon = {{0, 0}, {0, 20000 + what * 700}};
  signal(SIGALRM, die);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) setitimer(ITIMER_REAL, &soon, NULL);
  for (;;) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm w = MPI_COMM_WORLD;
    switch (what) {
      case 0: MPI_Barrier(w); break;
      case 1: MPI_Bcast(out, n, MPI_INT, 0, w); break;
      case 2: MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, w); break;
      case 3: MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, 0, w); break;
      case 4: MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, w); break;
      case 5: MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, w); break;
      case 6: MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, w); break;
      case 7: MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, w); break;
      case 8: MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, w); break;
      case 9: MPI_Scan(in, out, n, MPI_INT, MPI_SUM, w); break;
      case 10: MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, w); break;
      case 11: MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, w, &request); break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
C
"$MPICC" -o killed killed.c || exit 1
ends() { # ends WHAT COUNT: not by the time limit, and mpirun says who died of what
  local text status=0 began=$SECONDS
  text=$(timeout 20 "$MPIRUN" -n 4 ./killed "$1" "$2" 2>&1) || status=$?
  printf '%s\n' "$text"
  [ "$status" != 0 ] && [ "$status" != 124 ] && [ $((SECONDS - began)) -le 5 ] && grep -qi 'rank 1.*kill' <<<"$text"
}
names=(barrier bcast gather scatter allgather alltoall reduce allreduce reduce_scatter scan exscan iallreduce)
for i in "${!names[@]}"; do
  check "a rank killed in ${names[$i]} of 2 elements" ends "$i" 2
  check "a rank killed in ${names[$i]} of 200000 elements" ends "$i" 200000
done
totals
