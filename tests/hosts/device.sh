# SPDX-License-Identifier: Apache-2.0
# Device memory between hosts, on the software driver. Processes of two hosts may have the same pid, and cannot map each
# other's memory; only wrong data would reveal an attempt.
# timeout: 240
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
soft=$TREE/tests/softcuda
[ -e "$soft/libcuda.so.1" ] || { echo "SKIP: the software driver is not built: make -C $TREE driver-built"; exit 77; }
# Memory does not depend on the launcher.
[ "$LAUNCHER" = slurm ] || [ -n "${FULL:-}" ] || { echo "a long test: --full runs it"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
programs() {
  local name
  "$MPICC" -c "$TOP/tests/gpu/twin.c" -o twin.o || return
  for name in pt2pt_kinds coll_kinds stream_islands stream_islands_late; do
    "$MPICXX" -std=c++20 -O1 "-I$TOP" "-I$TOP/src" "$TOP/tests/gpu/mpi/$name.cc" twin.o -o $name "-L$soft" -Wl,--no-as-needed \
      -lcuda -ldl -pthread || return
  done
}
on_device() {
  limit=100 job "$2" env "SOFTCUDA_DEVICES=${3:-1}" SOFTCUDA_LATE=500 GPU_TWIN=soft "SOFTCUDA_KERNELS=$soft/libtern_kernels_host.so" \
    "TERN_TEST=cuda_kernels=$soft/libtern_kernels_host.so" \
    "LD_LIBRARY_PATH=$soft${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" sh -c 'SOFTCUDA_MACHINE=$(hostname) exec "$0" "$@"' "./$1" "${@:4}"
}
check "mpicxx" programs
check "messages between every two kinds of memory" on_device pt2pt_kinds 2x1
check "collectives on memory of every kind" on_device coll_kinds 2x2
check "enqueued collectives within and between hosts" on_device stream_islands 2x2 2
check "a rank that never enqueues one is told to both hosts" on_device stream_islands_late 2x2 2 3
totals
