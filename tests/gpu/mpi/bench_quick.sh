#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPU benchmarks compile and run, and all bars but the kernel's have figures. The stand-in for
# NCCL uses Tern; unsuitable NCCL versions are refused with the reason.
# configurations: 1 4-peers
# timeout: 300
set -eu
[ "$GPU_TWIN" = soft ] || { echo "on a GPU tests/bench/gpu/compare measures"; exit 77; }
soft=${SOFTCUDA_KERNELS%/*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NVCC= "$TOP/tests/bench/gpu/build" --prefix "$PREFIX" --out "$work" --stub "$soft"
"$TOP/tests/bench/gpu/compare" --prefix "$PREFIX" --programs "$work" --software "$soft" --out "$work/values" >"$work/table"
cat "$work/table"
grep -q 'mean nothing' "$work/table"
[ "$(grep -c 'not measured' "$work/table")" = 1 ]  # the kernel needs a GPU's image
[ "$(grep -c '^bandwidth_[a-z]*_[a-z]* ' "$work/values")" -ge 37 ]

# Enqueued operations against NCCL. Several ranks per GPU need NCCL 2.30.
nccl=$work/libnccl.so
"$PREFIX/bin/mpicxx" -std=c++20 -O1 -shared -fPIC -o "$nccl" "$TOP/tests/bench/gpu/stand_in/nccl.cc"
streams() { env "$@" "$MPIRUN" -n 3 "$work/streams" --quick >"$work/streams.out" 2>"$work/streams.said"; }
says() { grep -qF "$1" "$work/streams.said" || { echo "missing text: $1"; cat "$work/streams.said"; exit 1; }; }
streams BENCH_NCCL="$nccl"
says "NCCL 2.30.7, $([ "${SOFTCUDA_DEVICES:-1}" = 1 ] && echo "several ranks of a GPU" || echo "a GPU for each rank")"
for operation in allreduce allgather reduce_scatter broadcast alltoall sendrecv; do
  for library in tern nccl; do
    [ "$(grep -c "^streams_${operation}_$library [0-9]* 3 .* us$" "$work/streams.out")" -ge 5 ] || { cat "$work/streams.out"; exit 1; }
  done
done
# The bus bandwidth of nccl-tests: bytes / time * 2 (n - 1) / n, and * (n - 1) / n.
awk '
  { value[$1 " " $2] = $4 }
  END {
    split("allreduce 1.33333 32768;allgather 0.66667 32760;reduce_scatter 0.66667 32760;broadcast 1 32768;alltoall 0.66667 32760;sendrecv 1 32768", rows, ";")
    for (r in rows) {
      split(rows[r], w, " ")
      us = value["streams_" w[1] "_tern " w[3]]; rate = value["busbw_" w[1] "_tern " w[3]]
      expected = w[3] / us * w[2] / 1e3
      if (!us || rate < 0.99 * expected || rate > 1.01 * expected) { print w[1], us, rate, "expected", expected; exit 1 }
    }
  }' "$work/streams.out"
streams BENCH_NCCL="$nccl" STAND_IN_VERSION=22809
if [ "${SOFTCUDA_DEVICES:-1}" = 1 ]; then
  says "NCCL is left out: NCCL 2.28.9 takes one rank of a GPU; several need 2.30 or newer, with NCCL_MULTI_RANK_GPU_ENABLE=1"
else
  says "NCCL 2.28.9, a GPU for each rank"
fi
streams BENCH_NCCL="$nccl" STAND_IN_VERSION=22703
says "NCCL is left out: NCCL 2.27.3 "
streams BENCH_NCCL="$work/nothing"
says "NCCL is left out: libnccl.so.2 is neither in the loader's path"
