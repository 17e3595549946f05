# SPDX-License-Identifier: Apache-2.0
# Files on ext4, xfs, btrfs (loop devices on sparse files), overlayfs (also over btrfs), FUSE (bindfs) and tmpfs, in a mount
# namespace. Without root the namespace of a user permits tmpfs, overlayfs and FUSE.
# timeout: 3600
# hosts: no, all ranks share the files
# transport: sm, the file systems are the subject
. "$TOP/tests/verdicts.sh"
if [ -z "${IO_MOUNTS:-}" ]; then
  user=()
  [ "$(id -u)" = 0 ] || user=(--user --map-root-user)
  if ! unshare "${user[@]}" --mount true 2>/dev/null; then
    skip "mounted file systems" "no namespaces of mounts here"
    totals
  fi
  rm -f "$log"
  IO_MOUNTS=${#user[@]} exec unshare "${user[@]}" --mount bash "$0"
fi

work=$(mktemp -d) bindfs=
finish() {
  cd /
  if [ -n "$bindfs" ]; then umount -l "$work/fuse"; kill "$bindfs"; wait "$bindfs"; fi
  umount -Rl "$work"
  rmdir "$work"
  rm -f "$log"
} 2>/dev/null
trap finish EXIT
mount -t tmpfs tmpfs "$work" && cd "$work" || exit 1

for name in io_model io_hosts io_errors io_holes io_regressions io_killed; do
  "$MPICC" -O1 -I"$TOP/tests/mpi" "$TOP/tests/mpi/$name.c" -o $name || exit 1
done
for name in io_space io_mounts; do
  "$MPICC" -O1 -I"$TOP/tests/mpi" -x c "$TOP/tests/mpi/$name.inc" -o $name || exit 1
done

# Each function mounts a file system at its name. A failure prints the missing package or right.
has() { grep -qw "$1" /proc/filesystems || modprobe "$1" 2>/dev/null || { echo "this kernel has no $1"; return 1; }; }
needs() { command -v "$1" >/dev/null || { echo "$1 is missing (package $2)"; return 1; }; }
on_loop() { # on_loop NAME MIB PACKAGE MKFS...
  local name=$1 size=$2 package=$3
  shift 3
  [ "$IO_MOUNTS" = 0 ] || { echo "a loop device needs root"; return 1; }
  has "$name" && needs "$1" "$package" || return 1
  truncate -s "${size}M" "$name.img"
  "$@" "$name.img" >mkfs.log 2>&1 || { echo "$1 fails: $(tail -n 1 mkfs.log)"; return 1; }
  mount -o loop "$name.img" "$name" 2>/dev/null || { echo "no loop device can be mounted here"; return 1; }
}
mount_tmpfs() { mount -t tmpfs -o size=32m tmpfs tmpfs; }
mount_ext4() { on_loop ext4 32 e2fsprogs mkfs.ext4 -q; }
mount_xfs() { on_loop xfs 320 xfsprogs mkfs.xfs -q; }
mount_btrfs() { on_loop btrfs 128 btrfs-progs mkfs.btrfs -q -m single; }
over() { # over NAME UPPER
  mkdir -p "$1.lower" "$2/upper" "$2/changes"
  printf x >"$1.lower/readers"
  has overlay || return 1
  mount -t overlay overlay -o lowerdir="$1.lower,upperdir=$2/upper,workdir=$2/changes" "$1" 2>/dev/null ||
    { echo "overlayfs cannot be mounted here"; return 1; }
}
mount_overlayfs() {
  mkdir -p disk && mount -t tmpfs -o size=32m tmpfs disk && over overlayfs disk
}
mount_overlayfs_btrfs() {
  mountpoint -q btrfs || { echo "btrfs is not mounted"; return 1; }
  over overlayfs_btrfs btrfs
}
mount_fuse() {
  has fuse && needs bindfs bindfs || return 1
  mkdir -p back
  mount -t tmpfs -o size=32m tmpfs back
  bindfs -f back fuse >bindfs.log 2>&1 &
  bindfs=$!
  for ((i = 0; i < 50; i++)); do
    ! mountpoint -q fuse || return 0
    kill -0 $bindfs 2>/dev/null || break
    sleep 0.1
  done
  echo "bindfs cannot mount here"
  return 1
}

# run RANKS PROGRAM ARGUMENTS...: with the files in $IO_FOLDER.
run() {
  local ranks=$1 program=$2
  shift 2
  FULL= timeout 300 "$MPIRUN" -n "$ranks" "./$program" "$@"
}
explained() { # explained NAME WORDS: TERN_EXPLAIN names the file system
  local got
  got=$(TERN_EXPLAIN=1 run 2 io_mounts readers "$IO_FOLDER" 0 2>&1) && echo "$got" && grep -q " is on $1,.* $2" <<<"$got"
}
fill_up() { # leaves about 2 MiB
  local left kib filler
  for filler in 1 2 3; do
    sync -f "$IO_FOLDER" # btrfs frees the space of deleted files later
    left=$(df --output=avail -k "$IO_FOLDER" | tail -n 1)
    [ "$left" -gt 3072 ] || return 0
    for ((kib = left - 2048; kib > left / 2; kib -= 1024)); do
      ! fallocate -l "${kib}K" "$IO_FOLDER/filler$filler" 2>/dev/null || continue 2
    done
    head -c "$((left - 2048))K" /dev/zero >"$IO_FOLDER/filler$filler" # no fallocate
  done
}
full_disk() { # full_disk WAY KIND
  fill_up
  TERN_IO=$1 says survived run 2 io_space "$IO_FOLDER/space" "$2" 8000000
  local status=$?
  rm -f "$IO_FOLDER"/filler? "$IO_FOLDER/space"
  return $status
}

full_run() { # full_run NAME
  local way ranks kind
  for ranks in 2 3 4 8; do
    for way in auto plain mapped exchange; do
      TERN_IO=$way check "$1: the random model, $way, $ranks ranks" run $ranks io_model 5000 "$RANDOM" "$IO_FOLDER"
    done
  done
  for way in auto plain mapped exchange; do
    for kind in collective independent; do check "$1: a full disk, $kind, $way" full_disk $way $kind; done
    for ranks in 2 4; do TERN_IO=$way check "$1: holes, $way, $ranks ranks" run $ranks io_holes; done
    TERN_IO=$way check "$1: overwriting on a full disk, $way" run 3 io_mounts full "$IO_FOLDER" "$mib"
  done
  check "$1: error classes, 3 ranks" run 3 io_errors
  check "$1: regressions, 4 ranks" run 4 io_regressions
  for kind in blocking nonblocking split ordered sync; do
    check "$1: a dead rank, $kind" says "both heard" killed $kind
  done
  TERN_TRANSPORT=ucx check "$1: ranks as hosts, ucx" run 3 io_hosts
}
killed() { run 3 io_killed "$@"; true; }

on_mount() { # on_mount NAME SYSTEM WORDS
  local operations=300 mib=12
  mkdir -p "$1"
  if ! "mount_$1" >reason; then
    skip "$1" "$(tail -n 1 reason)"
    return
  fi
  # A call takes 50 us.
  [ "$1" != fuse ] || operations=120 mib=1
  export IO_FOLDER=$work/$1
  [ -e "$1/readers" ] || printf x >"$1/readers"
  check "$1: TERN_EXPLAIN names it, a reader sees writes" explained "$2" "$3"
  check "$1: the random model" run 3 io_model $operations 5 "$IO_FOLDER"
  TERN_IO=mapped check "$1: the random model, mapped" run 2 io_model $operations 6 "$IO_FOLDER"
  check "$1: error classes" run 2 io_errors
  check "$1: holes" run 2 io_holes
  check "$1: overwriting on a full disk" run 3 io_mounts full "$IO_FOLDER" "$mib"
  check "$1: writing more than the disk has" full_disk mapped independent
  TERN_TRANSPORT=ofi check "$1: ranks as hosts" run 2 io_hosts
  [ -z "${FULL:-}" ] || full_run "$1"
}
mapped="through a mapping" calls="with a system call for each block"
on_mount tmpfs tmpfs "$mapped"
on_mount ext4 ext4 "$mapped"
on_mount xfs xfs "$mapped"
on_mount btrfs btrfs "$calls"
on_mount overlayfs overlayfs "$mapped"
on_mount overlayfs_btrfs overlayfs "$calls"
on_mount fuse fuse "$calls"
totals
