# SPDX-License-Identifier: Apache-2.0
# mpirun and srun in a real Slurm: slurmctld and four slurmd on this machine, all in a folder of their own.
# timeout: 240
. "$TOP/tests/verdicts.sh"
for program in slurmctld slurmd srun salloc sbatch scancel munged; do
  if ! command -v "$program" >/dev/null; then
    echo "Slurm is not installed here: no $program"
    exit 77
  fi
done
if [ "$(id -u)" != 0 ]; then
  echo "slurmd needs root here"
  exit 77
fi

S=$(mktemp -d)
pids=()
stop() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${pids[@]}"; do
    for ((i = 0; i < 50; i++)); do kill -0 "$pid" 2>/dev/null && sleep 0.1; done
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  rm -rf "$S" "$log"
}
trap stop EXIT
chmod 711 "$S"
mkdir -p "$S"/{state,log,munge,work} "$S"/{spool,tmp}/n{0..3}
port=$((20000 + RANDOM % 10000))
host=$(uname -n)
cat >"$S/slurm.conf" <<END
ClusterName=tern
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$S/munge/socket
CredType=cred/munge
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool/%n
TmpFS=$S/tmp/%n
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd-%n.pid
SlurmctldLogFile=$S/log/ctld.log
SlurmdLogFile=$S/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n[0-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=2 RealMemory=100 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
export SLURM_CONF=$S/slurm.conf
cd "$S/work" || exit 1
if ! srun --mpi=list 2>&1 | grep -q pmix; then
  echo "this Slurm has no PMIx plugin"
  exit 77
fi
head -c 1024 /dev/urandom >"$S/munge/key"
chmod 400 "$S/munge/key"
chmod 755 "$S/munge"
munged --foreground --force --socket="$S/munge/socket" --key-file="$S/munge/key" --pid-file="$S/munge/pid" \
  --log-file="$S/munge/log" --seed-file="$S/munge/seed" --num-threads=2 >"$S/log/munged" 2>&1 &
pids+=($!)
for ((i = 0; i < 100; i++)); do [ -S "$S/munge/socket" ] && break; sleep 0.1; done
slurmctld -D >"$S/log/ctld.out" 2>&1 &
pids=($! "${pids[@]}")
for node in n0 n1 n2 n3; do
  slurmd -D -N $node >"$S/log/$node.out" 2>&1 &
  pids=($! "${pids[@]}")
done
for ((i = 0; i < 200; i++)); do
  [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
  sleep 0.1
done
if ! [ "$(sinfo -h -o %T 2>&1)" = idle ]; then
  sinfo -N
  tail -n 5 "$S"/log/* "$S"/munge/log
fi
check "four nodes are up" test "$(sinfo -h -o '%D %T')" = "4 idle"

cat >who.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d of %d, sum %d%s%s\n", rank, size, sum, argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
  MPI_Finalize();
  return 0;
}
END
cat >send.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  else MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END
check "mpicc" sh -c "'$MPICC' who.c -o who && '$MPICC' send.c -o send"
four=$'0 of 4, sum 6\n1 of 4, sum 6\n2 of 4, sum 6\n3 of 4, sum 6'
two=$'0 of 2, sum 1\n1 of 2, sum 1'
check "srun --mpi=pmix -N1 -n4" prints "$four" srun --mpi=pmix -N1 -n4 --overcommit ./who
without() {
  timeout 60 srun -N1 -n2 ./who >out 2>&1
  local code=$?
  printf 'exit %s: %s\n' "$code" "$(cat out)"
  [ "$code" != 0 ] && grep -q 'srun --mpi=pmix' out
}
check "srun without --mpi=pmix names the cure" without
check "mpirun in an allocation of one node" prints "$two" salloc -Q -N1 -n2 "$MPIRUN" -n 2 ./who
check "without -n: the allocation's tasks" prints "$two" salloc -Q -N1 -n2 "$MPIRUN" ./who
check "it starts them itself" salloc -Q -N1 -n2 sh -c "'$MPIRUN' --dry-run ./who | grep -q '^2 ranks on host'"
check "a name of Slurm's is this node" salloc -Q -N1 -w n2 sh -c \
  "SLURMD_NODENAME=n2 '$MPIRUN' --dry-run -host n2:3 ./who | grep -q '^3 ranks on host'"
printf '#!/bin/sh\nexec "%s" ./who\n' "$MPIRUN" >batch.sh
batch() {
  timeout 60 sbatch --wait -Q -N1 -n2 -o batch.out batch.sh >sbatch.out 2>&1 || { cat sbatch.out batch.out; return 1; }
  [ "$(sort batch.out)" = "$two" ] || { cat batch.out; return 1; }
}
check "mpirun in a batch script" batch

# Several nodes: srun starts the ranks.
check "an allocation of several nodes goes to srun" salloc -Q -N2 -n2 sh -c \
  "'$MPIRUN' --dry-run -n 4 ./who | tee dry | grep -q '^starts: srun --mpi=pmix .*-n 4 .*./who$'"
check "and runs there" prints $'n0\nn1' salloc -Q -N2 -w n0,n1 "$MPIRUN" -N 1 sh -c 'echo $SLURMD_NODENAME'
check "hosts of the allocation" prints $'n1' salloc -Q -N2 -w n0,n1 "$MPIRUN" -host n1 -n 1 sh -c 'echo $SLURMD_NODENAME'
check "variables" prints $'a b/c\na b/c' salloc -Q -N2 "$MPIRUN" -N 1 -genv A 'a b' -x B=c sh -c 'echo $A/$B'
check "a folder" prints $'/\n/' salloc -Q -N2 "$MPIRUN" -N 1 -wdir / pwd
check "tags" prints $'0: x\n1: x' salloc -Q -N2 "$MPIRUN" -N 1 -l echo x
check "the input goes to rank 0" prints 3 sh -c "printf abc | salloc -Q -N2 '$MPIRUN' -N 1 sh -c '[ \$SLURM_PROCID = 1 ] || wc -c'"
check "files of output" sh -c "salloc -Q -N2 '$MPIRUN' -n 2 -N 1 --output streams sh -c 'echo \$SLURM_PROCID' &&
  cat streams/rank.0/stdout streams/rank.1/stdout | tr -d '\n' | grep -qx 01"
check "several programs" prints $'0 of 3, sum 3 x y\n1 of 3, sum 3 z\n2 of 3, sum 3 z' \
  salloc -Q -N2 -w n0,n1 sh -c "'$MPIRUN' -host n0 -n 1 ./who 'x y' : -n 2 ./who z"
check "the exit code" sh -c "salloc -Q -N2 '$MPIRUN' -N 1 sh -c 'exit 7'; [ \$? = 7 ]"
between() { # between PROGRAM
  timeout 60 salloc -Q -N2 "$MPIRUN" -N 1 "$1" >out 2>&1
  local code=$?
  printf 'exit %s: %s\n' "$code" "$(cat out)"
  [ "$code" != 0 ] && [ "$code" != 124 ] && grep -q 'no transport reaches rank .: it is on another host' out
}
check "a message to another host is refused with the reason" between ./send
check "a collective over hosts, too" between ./who
nowhere() {
  mkdir -p bin
  ln -sf "$(command -v sh)" bin/sh
  timeout 60 salloc -Q -N2 env PATH="$PWD/bin" "$MPIRUN" -n 2 ./who >out 2>&1
  local code=$?
  cat out
  [ "$code" = 1 ] && grep -q 'this Slurm allocation has 2 nodes' out && grep -q 'apt-get install slurm-client' out
}
check "without srun it says what to install" nowhere
totals
