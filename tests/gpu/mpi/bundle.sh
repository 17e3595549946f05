#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bundle runs tests and benchmarks from another directory, in a cleared environment, and stays
# small.
# configurations: 1
# timeout: 600
set -eu
[ "$GPU_TWIN" = soft ] || { echo "on a GPU run-tests of the bundle is the test"; exit 77; }
soft=${SOFTCUDA_KERNELS%/*}
tree=${soft%/tests/softcuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

# Without --full only these tests are compiled.
some="pt2pt_each_protocol support_queries alloc_kinds"
env -u LD_LIBRARY_PATH BUNDLE_TESTS="$([ -n "$FULL" ] || echo "$some")" make -s -C "$tree" bundle >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
mv "$tree/bundle/tern" "$work/else where"
bundle="$work/else where"
cd /
clear() { env -i "$@"; }

size=$(du -sm "$bundle" | cut -f 1)
# The limit is 40 MiB with kernels for one architecture (less than 2 MiB), absent in this tree.
[ "$size" -lt 38 ] || fail "the bundle has $size MiB"
! grep -rlF "$tree" "$bundle/bin/mpirun" "$bundle/tests" "$bundle/bench" || fail "the files above contain the build tree's path"

clear "$bundle/run-tests" >"$work/out" 2>&1 && fail "without a driver the tests passed" || status=$?
[ -e /dev/nvidiactl ] || [ "$status" = 77 ] || fail "without a driver: exit $status, $(cat "$work/out")"
clear LD_LIBRARY_PATH="$soft" "$bundle/run-tests" pt2pt_each_protocol >"$work/out" 2>&1 && fail "the software driver was taken for a real one"
grep -q 'is the software driver' "$work/out" || fail "not refused: $(cat "$work/out")"
clear "$bundle/run-tests" --software "$soft" $some >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^PASS pt2pt_each_protocol -n 2' "$work/out" || fail "pt2pt_each_protocol did not run: $(cat "$work/out")"
clear "$bundle/run-tests" --software "$soft" kernels_test >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^PASS kernels_test' "$work/out" || fail "kernels_test did not run: $(cat "$work/out")"
clear "$bundle/run-bench" latency --max 8 --seconds 0.01 >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^latency 8 2 ' "$work/out" || fail "latency did not run: $(cat "$work/out")"
clear "$bundle/run-bench" --software "$soft" --out "$work/values" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '^allreduce_device 65536 4 ' "$work/values" || fail "allreduce was not measured: $(cat "$work/out")"
clear "$bundle/bin/tern_info" --build >"$work/out" 2>&1 || fail "$(cat "$work/out")"

# A dry run of the experiments: a second call continues, and a software run clears no mark.
experiments() { clear "$bundle/experiments" --out "$work/experiments" "$@" >"$work/out" 2>&1; }
clear "$bundle/experiments" --out "$work/experiments" >"$work/out" 2>&1 && fail "experiments without a driver" || status=$?
[ -e /dev/nvidiactl ] || [ "$status" = 77 ] || fail "experiments without a driver: exit $status, $(cat "$work/out")"
experiments --software "$soft" --only "machine kernels" || fail "$(cat "$work/out")"
grep -q '^kernels: passed: 20 rounds' "$work/out" || fail "the kernels did not run: $(cat "$work/out")"
grep -qF '| nccl | enqueued operations against NCCL | pending |' "$work/out" || fail "no table: $(cat "$work/out")"
experiments --software "$soft" --seconds 0 || fail "$(cat "$work/out")"
grep -q '^Not enough time for: driver costs' "$work/out" || fail "the time limit is not reported: $(cat "$work/out")"
experiments --software "$soft" || fail "$(cat "$work/out"; tail -n 20 "$work/experiments"/*.log)"
grep -q '^kernels: known: passed' "$work/out" || fail "the second call does not continue: $(cat "$work/out")"
for step in driver costs tests bench proxy mps; do
  grep -q "^$step: passed" "$work/out" || [ ! -e "$bundle/tests/driver_test" ] || fail "$step did not pass: $(cat "$work/out")"
done
grep -q '^nccl: not run: NCCL is left out' "$work/out" || fail "no reason why NCCL did not run: $(cat "$work/out")"
grep -q '^proxy streams_allreduce_tern 8 2 ' "$work/experiments/figures" || fail "no figure: $(cat "$work/experiments/figures")"
grep -q '^# software driver: push 20' "$work/experiments/verdicts.txt" || fail "verdicts: $(cat "$work/experiments/verdicts.txt")"
! grep -v '^#' "$work/experiments/verdicts.txt" || fail "the software driver clears a mark"
python3 "$TOP/coll/gpu/verdicts.py" --record "$work/experiments/verdicts.txt" --out "$work/compiled"
sed 's/^# software driver: //' "$work/experiments/verdicts.txt" >"$work/as-real"
python3 "$TOP/coll/gpu/verdicts.py" --record "$work/as-real" --out "$work/compiled"
grep -q '{"push", "20' "$work/compiled" || fail "verdicts of another form: $(cat "$work/as-real")"
# A failing step is reported, and repeated on request.
rm "$bundle/tests/support_queries"
experiments --software "$soft" --only tests --again tests && fail "a test is missing, but the step passed" || :
grep -q '^tests: failed: 0 passed.*support_queries' "$work/out" || fail "no reason: $(cat "$work/out")"
