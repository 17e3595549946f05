# SPDX-License-Identifier: Apache-2.0
# Rendezvous by RDMA reads between hosts, where the library emulates RDMA over TCP: the data, and the counts of the messages read.
# Loss of a peer in mid-read: UCX 1.13 may abort in its own uct_tcp_ep_pending_purge or ucp_get_req_handler.
# launchers: slurm
# timeout: 120
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >endless.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static char data[16 << 20];
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[16];
  snprintf(name, sizeof name, "%d.pid", rank);
  for (int i = 0;; ++i) {
    if (rank == 0) MPI_Send(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i != 10) continue;
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
  }
}
END
check "mpicc of reads.c" "$MPICC" "$TOP/tests/rdma/reads.c" -o reads
check "mpicc of endless.c" "$MPICC" endless.c -o endless
settings="TERN_EXPLAIN=1 TERN_TEST=net_put=1,net_eager=1024 TERN_EAGER_LIMIT=1k"
reads() {
  # shellcheck disable=SC2086
  limit=60 job 2x1 env $settings ./reads 6 >out 2>&1 || { cat out; return 1; }
  [ "$(grep -c 'all right' out)" = 2 ] || { cat out; return 1; }
}
says() { grep -Eq -- "$1" out || { cat out; return 1; }; }
check "sizes, holes, truncated, cancelled, probed, persistent and partitioned messages" reads
check "the connection names RDMA" says 'rank 0\] to rank 1 by (ucx|ofi) .*, from 1 B on read by RDMA'
check "the summary counts the reads" says 'rank 0\] sent to rank 1 by (ucx|ofi): .* 0 written by the sender, [1-9][0-9]* read by the receiver \([1-9][0-9]* by RDMA\)'
# killed RANK: the job ends within 10 seconds, and no other rank crashes.
killed() {
  local rank=$1 i start
  rm -f ./*.pid
  # shellcheck disable=SC2086
  limit=50 job 2x1 env $settings ./endless >out 2>&1 &
  for ((i = 0; i < 300; i++)); do [ "$(cat ./*.pid 2>/dev/null | wc -l)" = 2 ] && break; sleep 0.1; done
  (on_host h$((rank + 1)) kill -9 "$(cat "$rank.pid")") || return
  start=$(date +%s%N)
  wait $!
  i=$?
  start=$((($(date +%s%N) - start) / 1000000))
  cat out
  grep -Eq 'uct_tcp_ep_pending_purge|ucp_get_req_handler' out && return
  echo "exit $i, $start ms after the kill"
  [ $i != 0 ] && [ $start -le 10000 ] && ! grep -Eiq 'segmentation|SIGSEGV|signal 11|SIGABRT' out
}
check "the sender is killed during a read" killed 0
check "the receiver is killed during a read" killed 1
totals
