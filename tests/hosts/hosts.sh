# SPDX-License-Identifier: Apache-2.0
# Several hosts in the machine of tests/hosts/run. Each host has separate network, UTS, IPC, PID and mount namespaces, /proc,
# /dev/shm and boot id; ranks of two hosts share only files. Sourced by run, and by tests for on_host and net.
hosts_dir=/run/hosts
hosts_network=10.77.0
hosts_login=$hosts_network.254 # the login node, with run and the launchers

# make_hosts N: h1 to hN at 10.77.0.1 to N, on the bridge eth0 of the login node.
make_hosts() {
  local n=$1 i
  mkdir -p "$hosts_dir" /run/tmp
  chmod 1777 /run/tmp
  {
    echo "127.0.0.1 localhost"
    echo "$hosts_login $(uname -n)"
    for ((i = 1; i <= n; i++)); do echo "$hosts_network.$i h$i"; done
  } >"$hosts_dir/names"
  mount --bind "$hosts_dir/names" /etc/hosts
  ip link add eth0 type bridge
  ip addr add $hosts_login/24 dev eth0
  ip link set eth0 up
  for ((i = 1; i <= n; i++)); do make_host h$i $hosts_network.$i || return; done
  # Launchers call this instead of ssh.
  printf '#!/bin/bash\n. "%s"\nh=$1\nshift\nenter_host "$h" sh -c "$*"\n' "$(realpath "${BASH_SOURCE[0]}")" >"$hosts_dir/agent"
  chmod +x "$hosts_dir/agent"
}

make_host() { # make_host NAME ADDRESS
  local name=$1 address=$2 pid tries
  cat /proc/sys/kernel/random/uuid >"$hosts_dir/$name.boot_id"
  mkfifo "$hosts_dir/$name.up"
  # The host's first process only reaps orphans.
  unshare -m -u -i -n -p --fork --kill-child --mount-proc sh -c '
    set -e
    hostname "$1"
    mount --bind "$2/$1.boot_id" /proc/sys/kernel/random/boot_id
    mount -t tmpfs tmpfs /dev/shm
    # A sysfs of its own: UCX reads there which interfaces a host has.
    mkdir -p "$2/sys"
    mount -t sysfs sysfs "$2/sys"
    mount --rbind /sys/fs/cgroup "$2/sys/fs/cgroup"
    mount --rbind "$2/sys" /sys
    ip link set lo up
    echo up >"$2/$1.up"
    sleep infinity &
    wait' sh "$name" "$hosts_dir" </dev/null &
  pid=$!
  echo $pid >"$hosts_dir/$name.pid"
  read -r -t 10 _ <>"$hosts_dir/$name.up" || { echo "host $name did not come up"; return 1; }
  ip link add "$name" type veth peer name eth0 netns $pid
  ip link set "$name" master eth0 up
  nsenter -t $pid -n sh -c "ip addr add $address/24 dev eth0 && ip link set eth0 up"
  for ((tries = 0; tries < 50; tries++)); do
    nsenter -t $pid -n ip link show eth0 | grep -q LOWER_UP && return
    sleep 0.02
  done
  echo "the network of $name did not come up"
  return 1
}

# enter_host HOST COMMAND...: exec of the command on the host, in the same folder.
# on_host HOST COMMAND...: the same in a child; a kill of this process kills the command.
enter_host() {
  local pid
  pid=$(cat "$hosts_dir/$1.pid") || exit 125
  shift
  exec nsenter -t "$pid" -m -u -i -n --pid="/proc/$pid/ns/pid_for_children" env -C "$PWD" "$@"
}
on_host() {
  local host=$1
  shift
  enter_host "$host" setpriv --pdeathsig KILL "$@"
}

# Slurm on the hosts, for tests/slurm.sh, sourced before.
slurm_controller=$hosts_login
slurm_cpus=8
slurm_node_at() { echo "NodeAddr=$hosts_network.$1 Port=$((slurm_port + $1))"; }
slurm_on() { on_host "$@"; }

# ranks_on SHAPE: ranks per host: "2 2 2" for 3x2, "3 1" for 3+1.
ranks_on() {
  local host
  case $1 in
    *x*) for ((host = 0; host < ${1%x*}; host++)); do echo "${1#*x}"; done | xargs ;;
    *) echo "${1//+/ }" ;;
  esac
}

# launch LAUNCHER SHAPE COMMAND...: exec of the launcher of a job with HOSTSxRANKS: 3x2 puts ranks 0 and 1 on h1, and so on;
# 3+1 puts three on h1, one on h2.
# launch_by=COMMAND passes the launcher's words to COMMAND instead; prte_options has further options of prterun.
launch() {
  local launcher=$1 each host=0 ranks=0 names="" slots="" list=""
  export SHAPE=$2
  for each in $(ranks_on "$SHAPE"); do
    host=$((host + 1)) ranks=$((ranks + each))
    names+=,h$host slots+=,h$host:$each
    list+=$(printf ",h$host%.0s" $(seq "$each"))
  done
  shift 2
  case $launcher in
    slurm)
      # srun needs an arbitrary distribution for different numbers of ranks.
      case $SHAPE in
        *x*) set -- --ntasks-per-node="$each" -w "${names#,}" -m block "$@" ;;
        *) set -- -w "${list#,}" -m arbitrary "$@" ;;
      esac
      ${launch_by:-exec} srun -Q --overlap --mpi=pmix -N "$host" -n "$ranks" "$@"
      ;;
    prte)
      # Each "host" would bind its ranks to the same cores.
      ${launch_by:-exec} env PRTE_PREFIX="$PRTE" PMIX_PREFIX="$PRTE" OPAL_PREFIX="$PRTE" "$PRTE/bin/prterun" \
        --allow-run-as-root $prte_options --prefix "$PRTE" --prtemca plm_ssh_agent "$hosts_dir/agent" \
        --prtemca prte_if_include eth0 --host "${slots#,}" --map-by slot --bind-to none \
        -n "$ranks" env -u PRTE_PREFIX -u PMIX_PREFIX -u OPAL_PREFIX "$@"
      ;;
  esac
}

# job SHAPE COMMAND...: for scripts: starts a job by this run's launcher, for at most 30 seconds (or $limit).
job() {
  timeout -k 5 "${limit:-30}" bash -c '. "$TOP/tests/hosts/hosts.sh"; launch "$@"' launch "$LAUNCHER" "$@" </dev/null
}

# slurm_allocate: allocates all hosts for the whole run, so that srun starts jobs at once; writes the number to a file.
slurm_allocate() {
  local cpus
  cpus=$(sinfo -h -o %C)
  salloc -Q -N "$(sinfo -h -o %D)" -n "${cpus##*/}" --no-shell || return
  squeue -h -o %i >"${SLURM_CONF%/*}/job"
}

# net HOST|all up|down|clear|PROFILE: plugs or unplugs the host's cable; delays, reorders, drops or slows its frames.
# `clear` ends a profile. Uses netem, or relay.c on kernels without netem.
net() {
  local host what=$2
  if [ "$1" = all ]; then
    for host in $HOSTS; do net "$host" "$what" || return; done
    return
  fi
  host=$1
  case $what in
    down) ip link set "$host" down ;;
    up) ip link set "$host" up && net_forget_failures ;;
    clear) net_clear "$host" ;;
    delay-1ms) net_profile "$host" "delay 1ms" 1000 0 0 0 0 ;;
    delay-50ms) net_profile "$host" "delay 50ms" 50000 0 0 0 0 ;;
    reorder) net_profile "$host" "delay 200us 50us reorder 5%" 200 50 5 0 0 ;;
    loss-1) net_profile "$host" "loss 1%" 0 0 0 1 0 ;;
    rate-100mbit) net_profile "$host" "rate 100mbit" 0 0 0 0 12500000 ;;
    *)
      echo "net: unknown profile $what; profiles are delay-1ms, delay-50ms, reorder, loss-1, rate-100mbit"
      return 1
      ;;
  esac
}

# The kernel refuses silent addresses for seconds ("No route to host").
net_forget_failures() {
  local host
  ip neigh flush all
  for host in $HOSTS; do nsenter -t "$(cat "$hosts_dir/$host.pid")" -n ip neigh flush all || return; done
}

net_profile() { # net_profile HOST WORDS-OF-NETEM ARGUMENTS-OF-RELAY...
  local host=$1 words=$2
  shift 2
  net_clear "$host" || return
  # shellcheck disable=SC2086  # several words
  nsenter -t "$(cat "$hosts_dir/$host.pid")" -n tc qdisc add dev eth0 root netem $words limit 10000 2>/dev/null && return
  net_relay "$host" "$@"
}

# Cuts the host's cable: one end goes to the relay, which has another cable to the bridge.
net_relay() {
  local host=$1 said=$hosts_dir/$1.relay.said end tries
  shift
  if ! [ -x "$hosts_dir/relay" ]; then
    ${CC:-cc} -O2 -o "$hosts_dir/relay.new" "$(dirname "${BASH_SOURCE[0]}")/relay.c" &&
      mv "$hosts_dir/relay.new" "$hosts_dir/relay" || return
  fi
  ip link add "$host-in" type veth peer name "$host-out"
  # These ends are cables, not network cards: the login node must not answer frames on them.
  for end in "$host" "$host-in"; do echo 1 >"/proc/sys/net/ipv6/conf/$end/disable_ipv6"; done
  ip link set "$host" nomaster arp off
  ip link set "$host-in" arp off up
  ip link set "$host-out" master eth0 up
  : >"$said"
  "$hosts_dir/relay" "$host" "$host-in" "$@" >"$said" 2>&1 </dev/null &
  echo $! >"$hosts_dir/$host.relay"
  for ((tries = 0; tries < 100; tries++)); do
    grep -q up "$said" && return
    sleep 0.02
  done
  cat "$said"
  net_clear "$host"
  return 1
}

net_clear() {
  local host=$1
  nsenter -t "$(cat "$hosts_dir/$host.pid")" -n tc qdisc del dev eth0 root 2>/dev/null
  [ -e "$hosts_dir/$host.relay" ] || return 0
  kill "$(cat "$hosts_dir/$host.relay")" 2>/dev/null
  rm "$hosts_dir/$host.relay"
  ip link del "$host-in"
  ip link set "$host" master eth0 arp on
}
