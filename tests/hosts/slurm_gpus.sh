# SPDX-License-Identifier: Apache-2.0
# Slurm gives each task a GPU (--gpus-per-task), by CUDA_VISIBLE_DEVICES and by device cgroups. Tasks of a node then do not see
# each other's GPU. And a small limit of locked memory, from srun or slurmd. On the software driver.
# launchers: slurm
# timeout: 400
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/slurm.sh"
. "$TOP/tests/hosts/hosts.sh"
soft=$TREE/tests/softcuda
[ -e "$soft/libcuda.so.1" ] || { echo "SKIP: the software driver is not built: make -C $TREE driver-built"; exit 77; }
[ -n "${FULL:-}" ] || [ "${TERN_TRANSPORT:-sm,ucx}" = sm,ucx ] || { echo "a long test: --full runs it"; exit 77; }
work=$(mktemp -d)
suffix=-$RANDOM # the folders of cgroups have the names of nodes, and other runs see these folders
cgroups=/sys/fs/cgroup/devices
end_slurm() {
  slurm_stop
  find "$cgroups" -depth -type d -path "*/slurm_h[12]$suffix*" -exec rmdir {} + 2>/dev/null
}
trap 'end_slurm; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
unset SLURM_JOB_ID SLURM_CONF
slurm_gpus=2
slurm_on() { local host=${1%"$suffix"}; shift; on_host "$host" "$@"; }

programs() {
  local name
  "$MPICC" -c "$TOP/tests/gpu/twin.c" -o twin.o || return
  for name in pt2pt_kinds coll_kinds; do
    "$MPICXX" -std=c++20 -O1 "-I$TOP" "-I$TOP/src" "$TOP/tests/gpu/mpi/$name.cc" twin.o -o $name "-L$soft" -Wl,--no-as-needed \
      -lcuda -ldl -pthread || return
  done
}
# The software driver opens no device file. Like the real one, it must show only devices that the task may open: device 0 of a
# task in a device cgroup may be any device.
cat >task <<'END'
#!/bin/bash
given=$CUDA_VISIBLE_DEVICES permitted=""
for gpu in 0 1; do
  error=$( (: <"$GPUS/gpu$gpu") 2>&1)
  case $error in *"not permitted"*) ;; *) permitted+=$gpu ;; esac
done
[ "$permitted" = 01 ] || CUDA_VISIBLE_DEVICES=$permitted
SOFTCUDA_MACHINE=${SLURMD_NODENAME:0:2}
export CUDA_VISIBLE_DEVICES SOFTCUDA_MACHINE
[ "$1" != shows ] || exec echo "$SOFTCUDA_MACHINE $SLURM_LOCALID given $given, permitted $permitted, locked memory $(ulimit -l)"
exec setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$@"
END
chmod +x task
tasks() { # tasks NODES WORD...: two tasks on each node
  local nodes=$1
  shift
  timeout -k 5 100 srun -Q --mpi=pmix -N "$nodes" --ntasks-per-node=2 -n $((nodes * 2)) -m block --gpus-per-task=1 $options \
    env "GPUS=$folder" SOFTCUDA_DEVICES=2 SOFTCUDA_LATE=500 GPU_TWIN=soft "SOFTCUDA_KERNELS=$soft/libtern_kernels_host.so" \
    "TERN_TEST=cuda_kernels=$soft/libtern_kernels_host.so" "LD_LIBRARY_PATH=$soft${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    ./task "$@" </dev/null
}
options=''
start_slurm() {
  folder=$work/$1
  mkdir "$folder"
  slurm_start "$folder" "h1$suffix" "h2$suffix" || { tail -n 20 "$folder"/log/*; return 1; }
}
need_slurm() { [ "$verdicts_failed" = 0 ] || totals; }
jobs_with() { # jobs_with WHAT
  check "$1: messages within a node" tasks 1 ./pt2pt_kinds
  check "$1: messages between nodes" tasks 2 ./pt2pt_kinds
  check "$1: collectives on two nodes" tasks 2 ./coll_kinds
}
shown() { printf "h%d %d given %s, permitted %s, locked memory $locked\n" "$@"; }

locked=$(ulimit -l)
check "mpicxx" programs
check "Slurm with two GPUs on each node" start_slurm variable
need_slurm
check "a GPU for each task, by CUDA_VISIBLE_DEVICES" prints "$(shown 1 0 0 01 1 1 1 01 2 0 0 01 2 1 1 01)" tasks 2 shows
jobs_with "CUDA_VISIBLE_DEVICES"

# Slurm takes the limit of srun, or with --propagate=NONE the limit of slurmd.
locked=64
limited() {
  local all got=0
  all=$(ulimit -l)
  ulimit -Sl 64
  "$@" || got=$?
  ulimit -Sl "$all"
  return $got
}
check "a small limit of locked memory comes from srun" prints "$(shown 1 0 0 01 1 1 1 01)" limited tasks 1 shows
check "a job with this limit" limited tasks 2 ./coll_kinds
end_slurm
check "slurmd with a small limit" limited start_slurm limit
need_slurm
options=--propagate=NONE
check "the limit comes from slurmd" prints "$(shown 1 0 0 01 1 1 1 01)" tasks 1 shows
check "a job with slurmd's limit" tasks 2 ./coll_kinds
end_slurm
options='' locked=$(ulimit -l)

if [ "$(stat -f -c %T "$cgroups" 2>/dev/null)" = cgroupfs ] && mkdir "$cgroups/slurm_h1$suffix" 2>/dev/null; then
  slurm_task=task/cgroup
  check "Slurm with device cgroups" start_slurm cgroup
  need_slurm
  check "a task may open one GPU, as device 0" prints "$(shown 1 0 0 0 1 1 0 1 2 0 0 0 2 1 0 1)" tasks 2 shows
  jobs_with "device cgroups"
else
  skip "device cgroups" "no devices hierarchy of cgroup v1 that is writable here"
fi
totals
