# SPDX-License-Identifier: Apache-2.0
"""First programs of a virtual machine: the initramfs's, and the guest's, which runs commands of the shared folder."""

# All in the initramfs: `modprobe` over 9p takes seconds under emulation. crc32_generic before rdma_rxe, which requests the module through a
# program of the kernel, and finds none behind a chroot. Kernels may lack modules of PERHAPS.
NEEDED = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p")
PERHAPS = ("crc32_generic", "veth", "bridge", "ib_uverbs", "rdma_ucm", "rdma_rxe", "sch_netem", "sch_ingress", "cls_matchall", "act_gact", "fuse")

INIT = """\
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for module in $(/bin/busybox cat /modules.order); do /bin/busybox insmod $module || echo "no $module"; done
nine() { /bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,$3 $1 $2; }
nine root /new ro,cache=loose || exec /bin/busybox poweroff -f
for folder in tmp var/tmp run root dev dev/shm; do
  [ $folder = dev ] && /bin/busybox mount -t devtmpfs dev /new/dev && continue
  [ $folder = dev/shm ] && /bin/busybox mkdir -p /new/dev/shm
  /bin/busybox mount -t tmpfs tmpfs /new/$folder
done
/bin/busybox mkdir -p /new/dev/pts /new/run/rig
/bin/busybox mount -t devpts devpts /new/dev/pts
/bin/busybox mount -t proc proc /new/proc
/bin/busybox mount -t sysfs sys /new/sys
nine rig /new/run/rig cache=none
exec /bin/busybox chroot /new /bin/bash /run/rig/guest.sh
"""

GUEST = """\
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine: sets up the network, then runs commands of the shared folder one after another, or beside each other.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
for word in $(</proc/cmdline); do case $word in rig.*) declare "${word#rig.}";; esac; done
echo "m$number" >/proc/sys/kernel/hostname
binds="%(binds)s"
if [ -n "$binds" ]; then
  mkdir /run/outside
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,ro,cache=loose outside /run/outside
  for folder in $binds; do mount --bind "/run/outside$folder" "$folder"; done
fi
{ # one process for all lines: a new process is slow under emulation
  echo "link set lo up"
  if [ "$number" = 0 ]; then
    echo "link add e0 type bridge"
    for ((i = 0; i < links; i++)); do echo "link set eth$i mtu 9000 master e0 up"; done
  else
    echo "link set eth0 name e0"
  fi
  echo "link set e0 mtu 9000 up"
  echo "addr add %(network)s.$((number + 1))/24 dev e0"
} >/tmp/network
ip -batch /tmp/network
rdma link add rxe0 type rxe netdev e0
ulimit -l unlimited
ulimit -c 0
mkfifo /tmp/wait
mine=/run/rig/m$number
run() { # run FILE
  local name=${1%%.taken}
  bash "$1" >"$name.out" 2>&1
  echo $? >"$name.status.part"
  mv "$name.status.part" "$name.status"
}
echo ready >"$mine/ready"
exec 9<>/tmp/wait # read waits without a child process
while :; do
  for file in "$mine"/*.command; do
    [ -e "$file" ] || continue
    mv "$file" "${file%%.command}.taken"
    run "${file%%.command}.taken" 9<&- &
  done
  read -rt 0.05 -u 9
done
"""

# prterun starts its daemon on another machine: agent HOST WORD...
AGENT = """\
#!/bin/bash
host=$1
shift
file=/run/rig/$host/agent-$BASHPID
echo "$*" >"$file.part"
mv "$file.part" "$file.command"
exec 9<>/tmp/wait # read waits without a child process
while ! [ -e "$file.status" ]; do read -rt 0.1 -u 9; done
cat "$file.out"
exit "$(cat "$file.status")"
"""
