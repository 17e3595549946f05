#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bundle, moved to another directory: it is small, and its tests and benchmarks run in a cleared environment.
# configurations: 1
# timeout: 600
set -eu
[ "$GPU_TWIN" = soft ] || { echo "on a GPU run-tests of the bundle is the test"; exit 77; }
soft=${SOFTCUDA_KERNELS%/*}
tree=${soft%/tests/softcuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

# Without --full, the tests that are run below alone are compiled for it.
some="pt2pt_each_protocol support_queries alloc_kinds"
env -u LD_LIBRARY_PATH BUNDLE_TESTS="$([ -n "$FULL" ] || echo "$some")" make -s -C "$tree" bundle >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
mv "$tree/bundle/tern" "$work/else where"
bundle="$work/else where"
cd /
clear() { env -i "$@"; }

size=$(du -sm "$bundle" | cut -f 1)
[ "$size" -lt 40 ] || fail "the bundle has $size MiB"
! grep -rlF "$tree" "$bundle/bin/mpirun" "$bundle/tests" "$bundle/bench" || fail "these name the build tree"

clear "$bundle/run-tests" >"$work/out" 2>&1 && fail "without a driver the tests passed" || status=$?
[ -e /dev/nvidiactl ] || [ "$status" = 77 ] || fail "without a driver: exit $status, $(cat "$work/out")"
clear LD_LIBRARY_PATH="$soft" "$bundle/run-tests" pt2pt_each_protocol >"$work/out" 2>&1 && fail "the software driver was taken for a real one"
grep -q 'is the software driver' "$work/out" || fail "not refused: $(cat "$work/out")"
clear "$bundle/run-tests" --software "$soft" $some >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^PASS pt2pt_each_protocol -n 2' "$work/out" || fail "pt2pt_each_protocol did not run: $(cat "$work/out")"
clear "$bundle/run-bench" latency --max 8 --seconds 0.01 >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^latency 8 2 ' "$work/out" || fail "latency did not run: $(cat "$work/out")"
clear "$bundle/run-bench" --software "$soft" --out "$work/values" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^allreduce_device 65536 4 ' "$work/values" || fail "allreduce was not measured: $(cat "$work/out")"
clear "$bundle/bin/tern_info" --build >"$work/out" 2>&1 || fail "$(cat "$work/out")"
