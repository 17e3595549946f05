#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPU benchmarks compile and run, and every bar but the kernel's has its figures.
# configurations: 1
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
[ "$(grep -c 'not measured' "$work/table")" = 1 ]  # the kernel: its image is for a GPU
[ "$(grep -c '^bandwidth_[a-z]*_[a-z]* ' "$work/values")" -ge 37 ]
