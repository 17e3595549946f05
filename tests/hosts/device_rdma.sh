# SPDX-License-Identifier: Apache-2.0
# Device memory by RDMA between hosts (GPUDirect RDMA), on the software driver: UCX emulates RDMA over TCP, and a stand-in
# (tests/rdma/ucx_with_cuda.c) gives UCX the kinds of memory. Data, registrations, evictions, refusals, flushes.
# timeout: 240
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
soft=$TREE/tests/softcuda
[ -e "$soft/libcuda.so.1" ] || { echo "SKIP: the software driver is not built: make -C $TREE driver-built"; exit 77; }
[ "$LAUNCHER" = slurm ] || [ -n "${FULL:-}" ] || { echo "a long test: --full runs it"; exit 77; }
case ${TERN_TRANSPORT:-ucx} in *ofi*) echo "SKIP: the stand-in is a UCX"; exit 77 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
programs() {
  local source
  "${CC:-cc}" -shared -fPIC -O1 -Wall "$TOP/tests/rdma/ucx_with_cuda.c" -o ucx_with_cuda.so -ldl -Wl,--no-as-needed \
    -l:libucp.so.0 || return
  "$MPICC" -c "$TOP/tests/gpu/twin.c" -o twin.o || return
  for source in rdma/device_reads gpu/mpi/pt2pt_kinds; do
    "$MPICXX" -std=c++20 -O1 "-I$TOP" "-I$TOP/src" "-I$TOP/tests/gpu/mpi" "$TOP/tests/$source.cc" twin.o -o "${source##*/}" \
      "-L$soft" -Wl,--no-as-needed -lcuda -ldl -pthread || return
  done
}
# on_device PROGRAM [NAME=VALUE...] -- [ARGUMENT...]
on_device() {
  local program=$1 settings=()
  shift
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  limit=100 job 2x1 env SOFTCUDA_DEVICES=1 SOFTCUDA_OPEN=on SOFTCUDA_LATE=500 GPU_TWIN=soft TERN_EXPLAIN=1 \
    "TERN_UCX_LIBRARY=$work/ucx_with_cuda.so" TERN_EAGER_LIMIT=1k "SOFTCUDA_KERNELS=$soft/libtern_kernels_host.so" \
    "TERN_TEST=net_put=1,net_eager=1024,cuda_kernels=$soft/libtern_kernels_host.so" \
    "LD_LIBRARY_PATH=$soft${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "${settings[@]}" \
    sh -c 'SOFTCUDA_MACHINE=$(hostname) exec "$0" "$@"' "./$program" "$@" >out 2>&1 || { cat out; return 1; }
}
says() { grep -Eq -- "$1" out || { cat out; return 1; }; }
check "the stand-in and the programs" programs
check "device memory is read by RDMA" on_device device_reads -- read
check "both ranks are right" says 'rank 1: all right'
check "TERN_EXPLAIN names registrations" says 'device memory for RDMA: registered .* of device 0'
check "and releases of freed memory" says 'device memory for RDMA: released after the free'
check "messages between every two kinds of memory" on_device pt2pt_kinds --
check "a limit evicts" on_device pt2pt_kinds TERN_NET_CACHE=64k --
check "TERN_EXPLAIN names evictions" says 'device memory for RDMA: evicted'
check "refused memory goes through the host" on_device device_reads UCX_CUDA_REFUSES=1 -- refused
check "with the reason" says 'the network refuses device memory for RDMA .*pinned host memory'
check "so does memory of an older UCX" on_device device_reads UCX_CUDA_VERSION=15 -- refused
check "with the cure" says 'Cure: UCX 1.16 or newer, with CUDA'
totals
