# SPDX-License-Identifier: Apache-2.0
# TERN_PROFILE without mpirun: rank 0 prints one page for all ranks, and writes one file.
# messages: no
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
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
    if (rank == 3) MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
page() {
  TERN_PROFILE=$work/profile.json job 2x2 ./late >out 2>&1
  local code=$?
  cat out
  [ $code = 0 ] && [ "$(grep -c "^Profile of late: 4 ranks" out)" = 1 ] && ! grep -q "Profile of rank" out
}
late() {
  cat out
  grep -q "MPI_Recv at main (late.c:11)" out && grep -q "rank 0 sent after the receive was called" out &&
    awk '/MPI_Recv at main.*sent after/ { near = $3 > 0.285 && $3 < 0.5 } END { exit !near }' out
}
files() {
  ls profile.json*
  [ "$(ls profile.json*)" = profile.json ] && python3 -c 'import json; assert len(json.load(open("profile.json"))["ranks"]) == 4'
}
check "mpicc" "$MPICC" -g late.c -o late
check "one page" page
check "the receive of another host, with seconds and place" late
check "one file" files
totals
