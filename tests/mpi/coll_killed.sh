# SPDX-License-Identifier: Apache-2.0
# A rank killed inside a collective ends the job within seconds, with a status and a message.
# timeout: 240
# transport: sm, over a network others may tell of the death before mpirun sees it
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >killed.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
static void die(int signal) { raise(signal == SIGALRM ? SIGKILL : signal); }
enum { kMost = 1 << 18, kRanks = 4 };
static int counts[kRanks], displs[kRanks], bytes[kRanks];
static MPI_Datatype types[kRanks];
static MPI_Comm ring;
// Each line: the name, then the arguments of the call.
#define EACH(X)                                                                              \
  X(Barrier, barrier, w)                                                                     \
  X(Bcast, bcast, out, n, MPI_INT, 0, w)                                                     \
  X(Gather, gather, in, n, MPI_INT, out, n, MPI_INT, 0, w)                                   \
  X(Gatherv, gatherv, in, n, MPI_INT, out, counts, displs, MPI_INT, 0, w)                    \
  X(Scatter, scatter, in, n, MPI_INT, out, n, MPI_INT, 0, w)                                 \
  X(Scatterv, scatterv, in, counts, displs, MPI_INT, out, n, MPI_INT, 0, w)                  \
  X(Allgather, allgather, in, n, MPI_INT, out, n, MPI_INT, w)                                \
  X(Allgatherv, allgatherv, in, n, MPI_INT, out, counts, displs, MPI_INT, w)                 \
  X(Alltoall, alltoall, in, n, MPI_INT, out, n, MPI_INT, w)                                  \
  X(Alltoallv, alltoallv, in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, w)      \
  X(Alltoallw, alltoallw, in, counts, bytes, types, out, counts, bytes, types, w)            \
  X(Reduce, reduce, in, out, n, MPI_INT, MPI_SUM, 0, w)                                      \
  X(Allreduce, allreduce, in, out, n, MPI_INT, MPI_SUM, w)                                   \
  X(Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT, MPI_SUM, w)                    \
  X(Reduce_scatter_block, reduce_scatter_block, in, out, n, MPI_INT, MPI_SUM, w)             \
  X(Scan, scan, in, out, n, MPI_INT, MPI_SUM, w)                                             \
  X(Exscan, exscan, in, out, n, MPI_INT, MPI_SUM, w)                                         \
  X(Neighbor_allgather, neighbor_allgather, in, n, MPI_INT, out, n, MPI_INT, ring)           \
  X(Neighbor_alltoall, neighbor_alltoall, in, n, MPI_INT, out, n, MPI_INT, ring)
int main(int argc, char** argv) {
  const char* what = argv[1];
  const int n = atoi(argv[2]), waits = argv[3][0] == 'w', one = 1, period = kRanks;
  const MPI_Comm w = MPI_COMM_WORLD;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(w, &rank);
  MPI_Cart_create(w, 1, &period, &one, 0, &ring);
  int* in = calloc((size_t)kMost * kRanks, sizeof(int));
  int* out = calloc((size_t)kMost * kRanks, sizeof(int));
  for (int r = 0; r < kRanks; ++r) {
    counts[r] = n, displs[r] = r * n, bytes[r] = 4 * r * n;
    types[r] = MPI_INT;
  }
  const struct itimerval soon = {{0, 0}, {0, 20000 + (int)strlen(what) * 700}};
  signal(SIGALRM, die);
  MPI_Barrier(w);
  if (rank == 1) setitimer(ITIMER_REAL, &soon, NULL);
  for (;;) {
    MPI_Request request = MPI_REQUEST_NULL;
    int known = 0;
#define TRY(Name, name, ...)                                  \
  if (strcmp(what, #name) == 0) {                             \
    known = 1;                                                \
    if (waits) MPI_I##name(__VA_ARGS__, &request);            \
    else MPI_##Name(__VA_ARGS__);                             \
  }
    EACH(TRY)
    if (!known) return puts("no such collective"), 9;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
C
"$MPICC" -o killed killed.c || exit 1
ends() { # ends WHAT COUNT HOW: no timeout, and mpirun names the rank and the signal
  local text status=0 began=$SECONDS
  text=$(timeout 20 "$MPIRUN" -n 4 ./killed "$@" 2>&1) || status=$?
  printf '%s\n' "$text"
  [ "$status" != 0 ] && [ "$status" != 124 ] && [ $((SECONDS - began)) -le 5 ] && grep -qi 'rank 1.*kill' <<<"$text"
}
for what in $(sed -n 's/^  X([A-Z][a-z_]*, \([a-z_]*\),.*/\1/p' killed.c); do
  for how in calls waits; do
    check "a rank killed in $what of 2 elements, the others in $how" ends "$what" 2 $how
    check "a rank killed in $what of 200000 elements, the others in $how" ends "$what" 200000 $how
  done
done
check "every collective was tried" [ "$verdicts_passed" -ge 76 ]
totals
