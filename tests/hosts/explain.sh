# SPDX-License-Identifier: Apache-2.0
# TERN_EXPLAIN over hosts: transports, interfaces, and interfaces without a route.
# launchers: slurm
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'on_host h1 ip link del docker0; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
printf '#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }\n' >meet.c
check "mpicc" "$MPICC" meet.c -o meet
cat >large.c <<'END'
#include <mpi.h>
static char data[1 << 20];
int main(int c, char** v) {
  int rank;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(data, sizeof data, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
END
check "mpicc of large.c" "$MPICC" large.c -o large
program=./meet
says() { # says PATTERN [VARIABLE...]
  local pattern=$1
  shift
  job 2x2 env TERN_EXPLAIN=1 "$@" $program >out 2>&1 || { cat out; return 1; }
  grep -Eq -- "$pattern" out || { cat out; return 1; }
}
check "the library and the interfaces of a host" says 'rank 2\] (UCX|libfabric) reaches other hosts: this host has eth0 \(10.77.0.2\)'
once_a_host() { [ "$(grep -c 'reaches other hosts' out)" = 2 ]; }
check "once on each host" once_a_host
check "messages go from where the data lies" says 'to rank [23] by (ucx|ofi) .*: up to 128 KiB at once, from 1 KiB on without a copy here|to rank [23] by ofi'
program=./large
check "a get is announced as a get" says 'rank 0\] to rank 2 by (ucx|ofi) .*, from 64 KiB on read by RDMA' TERN_TEST=net_put=65536
check "and counted as a get" grep -Eq 'rank 0\] sent to rank 2 by (ucx|ofi): .* 1 message announced .*: 0 in fragments, 0 copied by both ends, 0 written by the sender, 1 read by the receiver \(1 by RDMA\)' out
program=./meet
check "settings of the library" says 'settings: .*(UCX_MAX_EAGER_RAILS=2|FI_MR_CACHE_MAX_SIZE=1048576)' TERN_NET_RAILS=2 TERN_NET_CACHE=1m
check "the devices of a connection" says 'rank 0\] to rank 2 by (ucx \(UCX: tcp over eth0|ofi \(libfabric: (tcp|net)[a-z_;]* over [^,]*)\)'
check "a setting of adapters has no effect over TCP" says 'TERN_NET_GID=3 has no effect: (UCX over TCP|libfabric.s provider .*) has no such setting' TERN_NET_GID=3
refused() {
  ! job 2x1 env TERN_NET_PKEY=0x8001 ./meet >out 2>&1 && grep -Eq "TERN_NET_PKEY=0x8001: (UCX over TCP|libfabric.s provider .*) .*; unset TERN_NET_PKEY" out
}
check "a partition without an adapter is an error" refused
(on_host h1 ip link add docker0 type bridge) && (on_host h1 ip addr add 172.17.0.1/16 dev docker0) && (on_host h1 ip link set docker0 up)
check "a bridge of containers, and the cure" says \
  'docker0 \(172.17.0.1\)( and eth0 \(10.77.0.1\))?; used: eth0, because docker0 reaches no other host; (UCX_NET_DEVICES|FI_(NET|TCP)_IFACE)=NAME chooses others'
check "which works" says '(UCX_NET_DEVICES|FI_(NET|TCP)_IFACE)=eth0 selects the interfaces' UCX_NET_DEVICES=eth0 FI_NET_IFACE=eth0 FI_TCP_IFACE=eth0
totals
