# SPDX-License-Identifier: Apache-2.0
# TERN_TOPOLOGY: ranks with equal graphs run, whatever their files look like; other graphs, and files
# that are no graph, are named. Discovered graphs.
# timeout: 120
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >sum.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != 1;
}
C
"$MPICC" -o sum sum.c || exit 1
printf 'gpu a b\nlink a b 25 3\n' >one
printf '# the same\ngpu a\ngpu b\n\noneway b a 25.0 3\noneway a b 25 3.000\n' >same
printf 'gpu a b\nlink a b 50 3\n' >other
printf 'gpu a b\nlink a b fast 3\n' >bad
printf 'gpu a b c d\nlink a b 25 3\nlink c d 25 3\n' >apart

pair() { # pair FILE FILE: two ranks with a file each, or none
  timeout 30 "$MPIRUN" -n 1 env ${1:+TERN_TOPOLOGY=$1} ./sum : -n 1 env ${2:+TERN_TOPOLOGY=$2} ./sum 2>&1
}
refused() { # refused PATTERN FILE FILE
  local text status=0
  text=$(pair "$2" "$3") || status=$?
  printf '%s\n' "$text"
  [ "$status" != 0 ] && [ "$status" != 124 ] && grep -q -e "$1" <<<"$text"
}
check "equal graphs of two files" pair one same
check "no graphs" pair "" ""
check "a known machine" pair dgx-h100 dgx-h100
check "another graph" refused "differ in the content of TERN_TOPOLOGY" one other
check "a rank without a graph" refused "content of TERN_TOPOLOGY" one ""
check "no graph" refused "TERN_TOPOLOGY: bad:2: bandwidth in GB/s must be a number" bad one
check "a graph of two parts" refused "TERN_TOPOLOGY: apart:3: no way from a to c" apart apart
check "no file" refused "TERN_TOPOLOGY: the topology ./missing cannot be read" ./missing ./missing
check "tern_coll prints the graph" says "^link a b 25 3$" "$PREFIX/bin/tern_coll" topology same

# TERN_TOPOLOGY=auto: the lowest rank discovers its host, here a made one with two GPUs behind a switch.
device() { # device PATH CLASS
  mkdir -p "tree/sys/devices/$1" tree/sys/bus/pci/devices
  echo "$2" >"tree/sys/devices/$1/class"
  echo 0x10de >"tree/sys/devices/$1/vendor"
  echo "16.0 GT/s PCIe" >"tree/sys/devices/$1/max_link_speed"
  echo 8 >"tree/sys/devices/$1/max_link_width"
  ln -s "../../../devices/$1" "tree/sys/bus/pci/devices/${1##*/}"
}
device pci0000:00/0000:00:01.0 0x060400
device pci0000:00/0000:00:01.0/0000:01:00.0 0x060400
for gpu in 3 4; do
  device pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:0$gpu.0 0x060400
  device pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:0$gpu.0/0000:0$gpu:00.0 0x030200
done
check "tern_coll discovers a host" says '^link g1 pci0 15.75 2.85  # 16 GT/s x8 of 0000:04:00.0$' "$PREFIX/bin/tern_coll" topology auto:tree
check "copies of a host need a network" eval '! "$PREFIX/bin/tern_coll" topology auto:tree --hosts=2 2>text && grep -q "no way from h0g0 to h1g0" text'
check "a host without GPUs" eval '! "$PREFIX/bin/tern_coll" topology auto:apart 2>text && grep -q "no GPU is known in apart/sys/bus/pci/devices" text'
check "the bound of a discovered host" says '^busbw bound 15.75 GB/s$' "$PREFIX/bin/tern_coll" bound --topology=auto:tree
check "ranks agree on the discovered graph" pair auto:tree auto:elsewhere
quiet() { ! pair "$@" | grep TERN_TOPOLOGY; }
check "and say nothing" quiet auto:tree auto:tree
check "a job without a graph runs, and rank 0 says why" says '0\] TERN_TOPOLOGY=auto:none: this job has no graph: host 0 has no GPU that is known' pair auto:none auto:tree
check "a rank that discovers, and one with a file" refused "content of TERN_TOPOLOGY" auto:tree one

# The rows named forest run on the graph, for all ranks of the job; other communicators take other rows.
"$MPICC" -O1 -I"$TOP/tests/mpi" -o rows -x c "$TOP/tests/mpi/coll_rows.inc" || exit 1
forests='bcast=forest reduce=forest allgather=forest reduce_scatter=forest allreduce=forest'
printf 'gpu a b c d\nlink a b 25 3\nlink b c 25 3\nlink c d 50 3\nlink d a 25 3\n' >ring
printf 'gpu g0..g4\nnode switch\nlink g0..g4 switch 50 2\n' >star
for graph in ring:4 star:5 ring:3; do
  check "rows along the trees of graph ${graph%:*} on ${graph#*:} ranks" timeout 100 "$MPIRUN" -n "${graph#*:}" \
    -x TERN_TOPOLOGY="${graph%:*}" ./rows $forests
done
check "rows along the trees of a discovered graph" timeout 100 "$MPIRUN" -n 2 -x TERN_TOPOLOGY=auto:tree ./rows $forests
cat >session.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request;
  int rank, in = 1, out[2];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "early", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) MPI_Iallgather(&in, 1, MPI_INT, out, 1, MPI_INT, comm, &request);
  MPI_Init(&argc, &argv);
  if (rank == 1) MPI_Iallgather(&in, 1, MPI_INT, out, 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Finalize();
  MPI_Session_finalize(&session);
  return out[0] + out[1] - 2;
}
END
"$MPICC" -o session session.c || exit 1
check "a session's collective across MPI_Init" timeout 60 "$MPIRUN" -n 2 -x TERN_TOPOLOGY=auto:tree -x TERN_COLL=allgather=forest ./session
mkfifo tree/sys/bus/pci/devices/0000:04:00.0/numa_node
check "a pipe in place of an attribute" timeout 20 "$PREFIX/bin/tern_coll" topology auto:tree
check "the row is named on a discovered graph" eval '"$MPIRUN" -n 2 -x TERN_EXPLAIN=1 -x TERN_TOPOLOGY=auto:tree ./rows allreduce=forest 2>&1 | grep "allreduce.*: forest"'
check "the row is named" eval '"$MPIRUN" -n 4 -x TERN_EXPLAIN=1 -x TERN_TOPOLOGY=ring ./rows allreduce=forest 2>&1 | grep "allreduce.*: forest"'

# A merged communicator of two worlds has no job's graph, on the parents and the children alike.
cat >merged.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Comm parent, children, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(parent == MPI_COMM_NULL ? children : parent, parent != MPI_COMM_NULL, &all);
  static int data[1 << 18];
  int rank, wrong = 0;
  MPI_Comm_rank(all, &rank);
  for (int i = 0; i < 1 << 18; ++i) data[i] = rank == 0 ? i : 0;
  MPI_Bcast(data, 1 << 18, MPI_INT, 0, all);
  for (int i = 0; i < 1 << 18; ++i) wrong += data[i] != i;
  MPI_Finalize();
  return wrong != 0;
}
C
"$MPICC" -o merged merged.c || exit 1
check "two worlds in one communicator" timeout 60 "$MPIRUN" -n 2 -x TERN_TOPOLOGY=ring -x TERN_COLL=bcast=forest ./merged
totals
