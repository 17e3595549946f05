# SPDX-License-Identifier: Apache-2.0
# 96 ranks of one host: collectives use shared memory in levels, also on smaller communicators.
# Elements larger than a slot, bounded memory, a killed rank.
# timeout: 240
# transport: sm, rows in shared memory
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
ranks=96
"$MPICC" -O1 -I"$TOP/tests/mpi" -o "$work/rows" -x c "$TOP/tests/mpi/coll_rows.inc" || exit 1
cat >"$work/many.c" <<'C'
#include <signal.h>
#include "check.h"
enum { kWide = 128 };
typedef struct { int x[kWide]; } Wide;
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count * kWide; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
// An element per block exceeds a slot of 32 KiB.
static void wide(void) {
  MPI_Datatype type;
  MPI_Op op;
  Wide *in = malloc(sizeof(Wide) * (size_t)size), out;
  for (int i = 0; i < size * kWide; ++i) ((int*)in)[i] = rank + i;
  OK(MPI_Type_contiguous(kWide, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(add, 1, &op));
  OK(MPI_Reduce_scatter_block(in, &out, 1, type, op, MPI_COMM_WORLD));
  for (int i = 0; i < kWide; ++i)
    if (out.x[i] != size * (size - 1) / 2 + size * (rank * kWide + i)) FAIL("wide: %d is %d", i, out.x[i]);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  free(in);
}
static void all_of(MPI_Comm comm) {
  int me, n, sum, before = -1, data[3] = {0, 0, 0};
  MPI_Request request;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &n));
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == n * (n - 1) / 2);
  OK(MPI_Exscan(&me, &before, 1, MPI_INT, MPI_SUM, comm));
  CHECK(me == 0 || before == me * (me - 1) / 2);
  const int root = n - 2;
  if (me == root) data[0] = data[2] = 5;
  OK(MPI_Bcast(data, 3, MPI_INT, root, comm));
  CHECK(data[0] == 5 && data[1] == 0 && data[2] == 5);
  OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_MAX, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == n - 1);
  OK(MPI_Barrier(comm));
}
static long shared_kib(void) {
  char line[200];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "RssShmem: %ld", &kib);
  fclose(status);
  return kib;
}
static void come_and_go(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm;
    double x = rank, y;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, comm));
    CHECK(y == size - 1);
    OK(MPI_Comm_free(&comm));
  }
}
int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc > 1) {  // a rank dies
    for (int i = 0;; ++i) {
      if (i == 20 && rank == 50) raise(SIGKILL);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  all_of(MPI_COMM_WORLD);
  wide();
  MPI_Comm part, back;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 70, 0, &part));
  all_of(part);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back));
  all_of(back);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&back));
  const char* const full = getenv("FULL");
  const int rounds = full != NULL && *full != 0 ? 60 : 3;
  come_and_go(rounds);
  const long before = shared_kib();
  come_and_go(rounds);
  const long grown = shared_kib() - before;
  if (grown > 256) FAIL("%d freed communicators leaked %ld KiB of shared memory", rounds, grown);
  if (rank == 0) printf("%d communicators left %ld KiB\n", rounds, grown);
  return end();
}
C
"$MPICC" -O1 -I"$TOP/tests/mpi" -o "$work/many" "$work/many.c" || exit 1

runs() { # $work/said gets the chosen rows
  timeout 100 "$MPIRUN" -n $ranks -x TERN_EXPLAIN=1 "$work/many" >"$work/said" 2>&1 || { tail -n 20 "$work/said"; return 1; }
}
took() { # took COLLECTIVE RANKS ROW
  grep "$1 of [0-9]* bytes.* on $2 ranks" "$work/said"
  grep -q "$1 of [0-9]* bytes on $2 ranks: $3 " "$work/said"
}
check "collectives of $ranks ranks" runs
for what in barrier bcast allreduce exscan; do
  check "$what of $ranks ranks uses levels" took $what $ranks flat_two_level
done
check "allreduce of 70 ranks uses levels" took allreduce 70 flat_two_level
check "elements larger than a slot use messages" took reduce_scatter $ranks '\(pairwise\|ordered\)'

rows=$("$PREFIX/bin/tern_coll" list | awk '$2 == "flat_two_level" { print $1 "=" $2 }')
check "at least six rows use levels" [ "$(wc -w <<<"$rows")" -ge 6 ]
rows="$rows ${FULL:+gather=flat scatter=flat allgather=flat alltoall=flat reduce_scatter=flat allreduce=flat_sliced}"
for n in $ranks ${FULL:+65 128 192}; do
  check "$(wc -w <<<"$rows") rows on $n ranks" timeout 200 "$MPIRUN" -n "$n" "$work/rows" $rows
done
if [ -n "${FULL:-}" ]; then
  check "rows on NUMA nodes" timeout 200 "$MPIRUN" -n $ranks -x HWLOC_SYNTHETIC='numa:4 core:24 pu:1' "$work/rows" $rows
fi

ends() { # within seconds, with a message
  local text
  SECONDS=0
  text=$(timeout 60 "$MPIRUN" -n $ranks "$work/many" dies 2>&1) && return 1
  printf '%s\n' "$text" | head -n 20
  [ $SECONDS -lt 20 ] && grep -qi 'rank 50.*kill' <<<"$text"
}
check "a killed rank ends the job" ends
totals
