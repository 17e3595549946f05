# SPDX-License-Identifier: Apache-2.0
# mpirun and srun in a real Slurm: slurmctld and four slurmd on this machine, in a private folder.
# timeout: 240
# waits: yes
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/slurm.sh"
if slurm_missing; then exit 77; fi

S=$(mktemp -d)
trap 'slurm_stop; rm -rf "$S" "$log"' EXIT
chmod 711 "$S"
mkdir "$S/work"
cd "$S/work" || exit 1
check "four nodes are up" slurm_start "$S" n0 n1 n2 n3
[ "$verdicts_failed" = 0 ] || totals # srun would wait for nodes

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
check "mpirun starts the ranks itself" salloc -Q -N1 -n2 sh -c "'$MPIRUN' --dry-run ./who | grep -q '^2 ranks on host'"
check "a node name of Slurm is this node" salloc -Q -N1 -w n2 sh -c \
  "SLURMD_NODENAME=n2 '$MPIRUN' --dry-run -host n2:3 ./who | grep -q '^3 ranks on host'"
printf '#!/bin/sh\nexec "%s" ./who\n' "$MPIRUN" >batch.sh
batch() {
  timeout 60 sbatch --wait -Q -N1 -n2 -o batch.out -e batch.err batch.sh >sbatch.out 2>&1 || { cat sbatch.out batch.*; return 1; }
  [ "$(sort batch.out)" = "$two" ] || { cat batch.out batch.err; return 1; }
}
check "mpirun in a batch script" batch

# Several nodes: srun starts the ranks.
check "an allocation of several nodes goes to srun" salloc -Q -N2 -n2 sh -c \
  "'$MPIRUN' --dry-run -n 4 ./who | tee dry | grep -q '^starts: srun --mpi=pmix .*-n 4 .*./who$'"
check "ranks run on the allocated nodes" prints $'n0\nn1' salloc -Q -N2 -w n0,n1 "$MPIRUN" -N 1 sh -c 'echo $SLURMD_NODENAME'
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
  TERN_TRANSPORT=sm timeout 60 salloc -Q -N2 "$MPIRUN" -N 1 "$1" >out 2>&1
  local code=$?
  printf 'exit %s: %s\n' "$code" "$(cat out)"
  [ "$code" != 0 ] && [ "$code" != 124 ] && grep -q 'no transport reaches rank ., which is on another host' out
}
check "a message to another host without a network transport fails with the reason" between ./send
check "a collective over hosts fails with the reason" between ./who
nowhere() {
  mkdir -p bin
  ln -sf "$(command -v sh)" bin/sh
  timeout 60 salloc -Q -N2 env PATH="$PWD/bin" "$MPIRUN" -n 2 ./who >out 2>&1
  local code=$?
  cat out
  [ "$code" = 1 ] && grep -q 'this Slurm allocation has 2 nodes' out && grep -q 'apt-get install slurm-client' out
}
check "without srun, the error names the package" nowhere
totals
