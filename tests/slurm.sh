# SPDX-License-Identifier: Apache-2.0
# A private Slurm for a test: munged, slurmctld and a slurmd per node, with all files in one folder. Sourced by
# tests/mpi/launch_slurm.sh, tests/mpi/launch_pmix.sh and tests/hosts/hosts.sh. By default all nodes are this machine.
# For nodes in other namespaces a script sets slurm_controller and redefines slurm_node_at and slurm_on.
slurm_controller=127.0.0.1 # the address of slurmctld, seen from the nodes
slurm_cpus=2               # per node
slurm_gpus=0               # per node: the device files FOLDER/gpu0 and so on
slurm_task=task/none       # or task/cgroup: a task opens only its device files
slurm_pids=()

# slurm_missing: prints the reason if no Slurm can start here; otherwise fails.
slurm_missing() {
  local program conf
  for program in slurmctld slurmd srun salloc sbatch scancel munged; do
    command -v "$program" >/dev/null || { echo "Slurm is not installed here: no $program"; return 0; }
  done
  [ "$(id -u)" = 0 ] || { echo "slurmd needs root here"; return 0; }
  conf=$(mktemp)
  printf 'ClusterName=x\nSlurmctldHost=x\n' >"$conf"
  SLURM_CONF=$conf srun --mpi=list 2>&1 | grep -q pmix || { echo "this Slurm has no PMIx plugin"; rm "$conf"; return 0; }
  rm "$conf"
  return 1
}

# slurm_node_at NUMBER NODE: the node's address in slurm.conf. Numbers begin at 1.
slurm_node_at() { echo "NodeHostname=$(uname -n) NodeAddr=127.0.0.1 Port=$((slurm_port + $1))"; }
# slurm_on NODE COMMAND...: replaces the calling process with the command, on the node.
slurm_on() { shift; exec "$@"; }

slurm_write_conf() { # slurm_write_conf FOLDER NODE...
  local folder=$1 node number=0
  shift
  cat <<END
ClusterName=tern
SlurmctldHost=$(uname -n)($slurm_controller)
SlurmctldPort=$slurm_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
TmpFS=$folder/tmp/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/ctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=$slurm_task
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
END
  [ "$slurm_gpus" = 0 ] || echo GresTypes=gpu
  for node in "$@"; do
    number=$((number + 1))
    echo "NodeName=$node $(slurm_node_at $number "$node") CPUs=$slurm_cpus RealMemory=100 State=UNKNOWN" \
      "$([ "$slurm_gpus" = 0 ] || echo "Gres=gpu:$slurm_gpus")"
  done
  echo "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4"
}

# slurm_write_cgroup FOLDER: slurmd refuses to start in a container without cgroups. Slurm before 23.02 does not know
# CgroupPlugin=disabled and gets an empty folder; its steps then end late.
slurm_write_cgroup() {
  local version
  if [ $slurm_task = task/cgroup ]; then
    printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup ConstrainDevices=yes >"$1/cgroup.conf"
    return
  fi
  ! grep -qE ' - cgroup2? ' /proc/self/mountinfo || return 0
  version=$(srun --version | sed -E 's/^[^0-9]*([0-9]+)\.([0-9]+).*/\1\2/')
  if [ "${version:-0}" -ge 2302 ]; then
    echo "CgroupPlugin=disabled"
  else
    printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/cgroup\n' "$1"
  fi >"$1/cgroup.conf"
}

# slurm_write_gpus FOLDER: the device files have the numbers of NVIDIA's, and no driver.
slurm_write_gpus() {
  local gpu
  for ((gpu = 0; gpu < slurm_gpus; gpu++)); do
    mknod "$1/gpu$gpu" c 195 "$gpu" && echo "Name=gpu File=$1/gpu$gpu" || return
  done
}

# slurm_start FOLDER NODE...: starts the daemons, exports SLURM_CONF, and waits 20 s for idle nodes. On a timeout prints the
# ends of the logs and fails.
slurm_start() {
  local folder=$1 node i
  shift
  slurm_port=$((20000 + RANDOM % 10000))
  mkdir -p "$folder"/{state,log,munge}
  for node in "$@"; do mkdir -p "$folder"/{spool,tmp}/"$node"; done
  slurm_write_conf "$folder" "$@" >"$folder/slurm.conf"
  [ "$slurm_gpus" = 0 ] || slurm_write_gpus "$folder" >"$folder/gres.conf" || return
  SLURM_CONF=$folder/slurm.conf slurm_write_cgroup "$folder"
  export SLURM_CONF=$folder/slurm.conf
  head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  chmod 755 "$folder/munge"
  munged --foreground --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --num-threads=2 \
    >"$folder/log/munged" 2>&1 &
  slurm_pids+=($!)
  for ((i = 0; i < 100; i++)); do [ -S "$folder/munge/socket" ] && break; sleep 0.1; done
  slurmctld -D >"$folder/log/ctld.out" 2>&1 &
  slurm_pids=($! "${slurm_pids[@]}")
  for node in "$@"; do
    slurm_on "$node" slurmd -D -N "$node" >"$folder/log/$node.out" 2>&1 &
    slurm_pids=($! "${slurm_pids[@]}")
  done
  for ((i = 0; i < 200; i++)); do
    [ "$(sinfo -h -o '%D %T' 2>/dev/null)" = "$# idle" ] && return
    sleep 0.1
  done
  sinfo -N
  tail -n 5 "$folder"/log/*
  return 1
}

# slurm_stop: ends the daemons. Kills a daemon after 5 seconds.
slurm_stop() {
  local pid i
  for pid in "${slurm_pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${slurm_pids[@]}"; do
    for ((i = 0; i < 50; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  slurm_pids=()
}
