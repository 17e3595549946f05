# SPDX-License-Identifier: Apache-2.0
# A trace over hosts whose clocks differ by hours: times are the job's, and a late sender of another host is found.
# timeout: 60
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >late.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, data = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    if (rank == 0) usleep(100000);
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    if (rank == 2) MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
END
# The processes of h2 have a clock of their own.
cat >run <<'END'
#!/bin/sh
[ "$(uname -n)" = h2 ] && exec unshare --time --monotonic 7200 --fork "$@"
exec "$@"
END
chmod +x run
records() {
  TERN_TRACE=$work/trace job 2x2 ./run ./late || return
  ls -l trace.*
  [ "$(ls trace.* | wc -l)" = 4 ]
}
clocks_in() { tr -c '[:print:]\t' '\n' <"$1" | grep $'^clock\t'; }
# Each rank of h2 has two lines: the clock is 7200 s ahead of the job's.
lines() {
  local file found
  for file in trace.2 trace.3; do
    clocks_in "$file"
    found=$(clocks_in "$file" | grep -c $'^clock\t[0-9]*\t-7[12][0-9]\\{11\\}\t[0-9]*$')
    echo "$file: $found lines"
    [ "$found" = 2 ] || return
  done
  ! clocks_in trace.0 && ! clocks_in trace.1
}
finds() {
  "$PREFIX/bin/tern_trace" trace.* >report || return
  cat report
  grep -q "rank 0 .*sent late" report &&
    awk '/^run / { ok = $2 < 5 } /^ *late sender .* ms$/ { near = $3 > 285 && $3 < 400 } END { exit !(ok && near) }' report
}
check "mpicc" "$MPICC" -g late.c -o late
check "four files" records
check "the lines of the clocks" lines
check "the late sender" finds
totals
