# SPDX-License-Identifier: Apache-2.0
# kill -9 of a random process at a random moment: after two seconds the job has no process and no
# file. 30 kills, or 300 with --full. Parameters: KILLS and SEED.
# timeout: 900
# transport: sm, over a network others may tell of the death before mpirun sees it
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cat >"$work/talk.c" <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { kLarge = 1 << 20, kBurst = 50 };
static int rank, size;
static void burst(int to, int from) {
  MPI_Request requests[2 * kBurst];
  int in[kBurst];
  for (int i = 0; i < kBurst; ++i) {
    MPI_Irecv(&in[i], 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(&rank, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * kBurst, requests, MPI_STATUSES_IGNORE);
}
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) / 1000 : 0.1;
  int go = 1;
  char* out = malloc(kLarge);
  char* in = malloc((size_t)kLarge);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double start = MPI_Wtime();
  for (int round = 0; go; ++round) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const int bytes = round % 3 == 0 ? kLarge : round % 3 == 1 ? 20000 : 8;
    double sum, mine = rank;
    MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    burst(to, from);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(out, 1000, MPI_CHAR, in, 1000, MPI_CHAR, MPI_COMM_WORLD);
    go = MPI_Wtime() - start < seconds;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank == 0) puts("talked");
  return 0;
}
END_OF_C
"$MPICC" -O1 "$work/talk.c" -o "$work/talk" || exit 1
export KILLS=${KILLS:-$([ -n "${FULL:-}" ] && echo 300 || echo 30)}
run=(python3 "$TOP/tests/mpi/fault_kills.py" "$MPIRUN" "$work/talk" "$work")
# A private /dev/shm and network if possible, so other jobs' files and sockets do not count.
if unshare -m -n true 2>/dev/null && command -v ip >/dev/null; then
  run=(unshare -m -n sh -c 'mount -t tmpfs tmpfs /dev/shm && ip link set lo up && exec "$@"' sh "${run[@]}" alone)
fi
check "kill -9 at $KILLS random moments" "${run[@]}"
sed -n '/^seed/p;/^killed/p' "$log"
totals
