# SPDX-License-Identifier: Apache-2.0
# Two rails between hosts: large messages use both interfaces, and messages stay in order.
# launchers: slurm
# timeout: 180
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'for link in h1-2 h2-2 rail; do ip link del $link 2>/dev/null; done; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
case ${TERN_TRANSPORT:-ucx} in
  *ucx* | auto) ;;
  *)
    check "mpicc" "$MPICC" "$TOP/tests/rdma/talks.c" -o talks
    remarks() {
      limit=60 job 2x2 env TERN_NET_RAILS=2 ./talks 1 >out 2>&1 || { cat out; return 1; }
      [ "$(grep -c 'TERN_NET_RAILS=2 has no effect: libfabric' out)" = 2 ] || { cat out; return 1; }
    }
    check "libfabric remarks on rails, once for each host" remarks
    for host in h1 h2; do
      (on_host $host sh -c "ip link add eth1 type veth peer name eth1-end && ip link set eth1-end up && ip link set eth1 up &&
        ip addr add 10.91.${host#h}.1/24 dev eth1")
    done
    check "and takes no interface that leads nowhere" remarks
    for host in h1 h2; do (on_host $host ip link del eth1); done
    totals
    exit
    ;;
esac

ip link add rail type bridge && ip link set rail up
for host in h1 h2; do
  ip link add "$host-2" type veth peer name eth2 netns "$(cat "$hosts_dir/$host.pid")" && ip link set "$host-2" master rail up
done
# UCX pairs interfaces in the kernel's order, and the order depends on names and hosts. Pairs across two networks leave an interface
# idle, so the loop looks for a name with equal orders.
first_of() { (on_host "$1" ls -U /sys/class/net) | grep -m 1 -x -e eth0 -e "$second"; }
second=eth2
for number in {3..30}; do
  [ "$(first_of h1)" = "$(first_of h2)" ] && break
  for host in h1 h2; do (on_host "$host" ip link set "$second" name "eth$number"); done
  second=eth$number
done
for host in h1 h2; do (on_host "$host" sh -c "ip addr add 10.78.0.${host#h}/24 dev $second && ip link set $second up"); done
sent() { (on_host h1 cat "/sys/class/net/$1/statistics/tx_bytes"); }
says() { grep -Eq -- "$1" out || { cat out; return 1; }; }

# stream RAILS...: KiB that a job sends by eth0 and the second interface.
stream() {
  local zero two got=0
  zero=$(sent eth0)
  two=$(sent "$second")
  limit=60 job 2x1 env TERN_EXPLAIN=1 "$@" >out 2>&1 || got=$?
  by_eth0=$((($(sent eth0) - zero) / 1024))
  by_second=$((($(sent "$second") - two) / 1024))
  echo "eth0: $by_eth0 KiB, $second: $by_second KiB, exit $got" >>out
  [ $got = 0 ]
}
cat >stream.c <<'END'
// 64 checked messages of 1 MiB, with small messages between them.
#include <mpi.h>
#include <stdio.h>
enum { kMessages = 64, kWords = 1 << 18, kAhead = 4 };
static int data[kAhead][kWords];
int main(int argc, char** argv) {
  int rank, small;
  MPI_Request requests[kAhead];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < kMessages / kAhead; ++round) {
    for (int i = 0; i < kAhead; ++i) {
      const int number = round * kAhead + i;
      for (int word = 0; rank == 0 && word < kWords; ++word) data[i][word] = number * 31 + word;
      if (rank == 0) MPI_Isend(data[i], kWords, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
      if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(data[i], kWords, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Recv(&small, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      int wrong = rank == 1 && small != number;
      for (int word = 0; rank == 1 && word < kWords; ++word) wrong += data[i][word] != number * 31 + word;
      if (wrong != 0) printf("message %d has %d wrong words\n", number, wrong), MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) MPI_Waitall(kAhead, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
}
END
check "mpicc of stream.c" "$MPICC" -O1 stream.c -o stream
check "mpicc of talks.c" "$MPICC" "$TOP/tests/rdma/talks.c" -o talks
check "mpicc of pt2pt_order.c" "$MPICC" -I"$TOP/tests/mpi" "$TOP/tests/mpi/pt2pt_order.c" -o order

one_rail() { stream ./stream && [ "$by_second" -lt 1024 ] && [ "$by_eth0" -gt 60000 ] || { cat out; return 1; }; }
check "by default one interface carries 64 MiB" one_rail
two_rails() { stream TERN_NET_RAILS=2 ./stream && [ "$by_second" -gt 16384 ] && [ "$by_eth0" -gt 16384 ] || { cat out; return 1; }; }
check "with TERN_NET_RAILS=2 both carry a quarter or more" two_rails
check "the connection names both" says 'rank 0\] to rank 1 by ucx \(UCX: tcp over eth[0-9]+ and eth[0-9]+, 2 rails\)'
check "the settings name the variable" says 'settings: .*UCX_MAX_EAGER_RAILS=2'
talks() { limit=60 job 2x2 env TERN_NET_RAILS=2 ./talks 2 >out 2>&1 && says '^talked'; }
check "four ranks talk over two rails" talks
order() { limit=60 job 2x1 env TERN_NET_RAILS=2 ./order >out 2>&1 || { cat out; return 1; }; }
check "messages stay in order" order
check "mpicc of reads.c" "$MPICC" "$TOP/tests/rdma/reads.c" -o reads
reads() {
  limit=60 job 2x1 env TERN_NET_RAILS=2 TERN_TEST=net_put=1,net_eager=1024 TERN_EAGER_LIMIT=1k ./reads 6 >out 2>&1 || { cat out; return 1; }
  [ "$(grep -c 'all right' out)" = 2 ] || { cat out; return 1; }
}
check "RDMA reads over two rails" reads
(on_host h2 sh -c "tc qdisc add dev $second root netem delay 2ms 2>/dev/null") && check "and with a slow second rail" order
totals
