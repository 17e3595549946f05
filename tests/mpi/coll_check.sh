# SPDX-License-Identifier: Apache-2.0
# TERN_CHECK=collective: an error names both calls if ranks call different collectives or pass
# different arguments.
# timeout: 120
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >wrong.c <<'C'
#include <mpi.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank, size, in[64] = {0}, out[512], counts[64];
  const char* what = argv[1];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int odd = rank == size - 1;
  MPI_Request request;
  for (int i = 0; i < size; ++i) counts[i] = 1 + (odd && i == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(what, "root")) MPI_Bcast(in, 4, MPI_INT, odd, MPI_COMM_WORLD);
  if (!strcmp(what, "count")) MPI_Allreduce(in, out, 3 + odd, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(what, "type")) MPI_Bcast(in, 4, odd ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "op"))
    MPI_Reduce(in, out, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "counts"))
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(what, "nonblocking")) {
    MPI_Iallgather(in, 2 + odd, MPI_INT, out, 2 + odd, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "persistent")) {
    MPI_Alltoall_init(in, 1 + odd, MPI_INT, out, 1 + odd, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "other") && odd) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(what, "other") && !odd)
    MPI_Scan(in, out, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(what, "neighbors")) {
    MPI_Comm ring;
    int dims[1] = {size}, periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Neighbor_allgather(in, 2, MPI_INT, out, 2, MPI_INT, ring);
    if (odd) MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring);
    if (!odd) MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
  }
  if (!strncmp(what, "between", 7)) {
    MPI_Comm side, inter;
    const int second = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - second, 0, &inter);
    MPI_Bcast(in, 4, MPI_INT, !second ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, second ? 0 : !rank ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, inter);
    if (!strcmp(what, "between_op"))
      MPI_Allreduce(in, out, 3, MPI_INT, odd ? MPI_MAX : MPI_SUM, inter);
    if (!strcmp(what, "between_root")) MPI_Bcast(in, 4, MPI_INT, 0, inter);
    if (!strcmp(what, "between_other") && odd) MPI_Barrier(inter);
    if (!strcmp(what, "between_other") && !odd) MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, inter);
    MPI_Comm_free(&side);
    MPI_Comm_free(&inter);
  }
  if (!strcmp(what, "right")) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(in, odd ? 2 : 4, odd ? pair : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(in, odd ? 1 : 2, odd ? pair : MPI_INT, out, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(in, rank, MPI_INT, out, counts, counts, MPI_INT, 1, MPI_COMM_SELF == 0 ? 0 : MPI_COMM_WORLD);
    MPI_Type_free(&pair);
  }
  MPI_Finalize();
  return 0;
}
C
# MPI_Gatherv: the root's counts and displacements are indexed by rank.
sed -i 's/MPI_Gatherv(.*/for (int i = 0; i < size; ++i) counts[i] = i;\n    MPI_Gatherv(in, rank, MPI_INT, out, counts, counts, MPI_INT, 1 % size, MPI_COMM_WORLD);/' wrong.c
"$MPICC" -o wrong wrong.c || exit 1
caught() { # caught PATTERN MODE RANKS: the job fails with PATTERN
  local text status=0
  text=$(timeout 30 "$MPIRUN" -n "$3" -x TERN_CHECK=collective ./wrong "$2" 2>&1) || status=$?
  printf '%s\n' "$text"
  [ "$status" != 0 ] && [ "$status" != 124 ] && grep -q -e "$1" <<<"$text"
}
for n in 2 3 5; do
  last=$((n - 1))
  check "another root, $n ranks" caught "rank $last calls bcast of 4 MPI_INT with root 1, but rank $((last - 1)) calls bcast of 4 MPI_INT with root 0.*MPI_COMM_WORLD\|rank 0 calls bcast of 4 MPI_INT with root 0, but rank $last calls bcast of 4 MPI_INT with root 1" root $n
  check "another count, $n ranks" caught 'allreduce of 4 MPI_INT by MPI_SUM' count $n
  check "another type, $n ranks" caught 'bcast of 4 MPI_FLOAT with root 0' type $n
  check "another operation, $n ranks" caught 'reduce of 4 MPI_INT by MPI_MAX with root 0' op $n
  check "other counts of MPI_Reduce_scatter, $n ranks" caught "of $((n + 1)) elements in parts" counts $n
  check "another collective, $n ranks" caught 'calls barrier\b.*MPI_Scan\|calls barrier' other $n
  check "another neighborhood collective, $n ranks" caught "calls neighbor_allgather.*calls neighbor_alltoall\|calls neighbor_alltoall.*calls neighbor_allgather" neighbors $n
  check "another operation between groups, $n ranks" caught 'allreduce of 3 MPI_INT by MPI_MAX' between_op $n
  check "roots on both sides, $n ranks" caught 'of the other group calls bcast of 4 MPI_INT with root 0' between_root $n
  check "another collective between groups, $n ranks" caught 'calls barrier' between_other $n
  check "equal calls between groups pass, $n ranks" "$MPIRUN" -n $n -x TERN_CHECK=collective ./wrong between
  check "nonblocking, $n ranks" caught 'allgather of 3 MPI_INT' nonblocking $n
  check "persistent, $n ranks" caught 'alltoall of 2 MPI_INT' persistent $n
  check "equal calls pass, $n ranks" "$MPIRUN" -n $n -x TERN_CHECK=collective ./wrong right
done
totals
