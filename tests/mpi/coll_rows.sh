# SPDX-License-Identifier: Apache-2.0
# Every row of the algorithm table on real processes, against a serial reference: counts around
# chunk sizes, roots, in place, derived types with a negative lower bound, commutative and
# non-commutative operations. Float sums have equal bits on all ranks and in all runs.
# timeout: 600
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
"$MPICC" -O1 -I"$TOP/tests/mpi" -o "$work/rows" -x c "$TOP/tests/mpi/coll_rows.inc" || exit 1
rows=$("$PREFIX/bin/tern_coll" list | awk 'NR > 1 && !/^neighbor/ { print $1 "=" $2 }')
flat=$(grep =flat <<<"$rows")
sliced=$(grep =sliced <<<"$rows")
for n in 5 ${FULL:+1 2 3 4 7 8 16}; do
  check "$(wc -w <<<"$rows") rows at $n ranks" timeout 200 "$MPIRUN" -n $n -x TERN_COLL_LEVELS=4,2 "$work/rows" $rows
done
for shape in 2x3 ${FULL:+3x2 2x2 4x2 3x3 5x2}; do
  check "$(wc -w <<<"$sliced") rows by slices on $shape" timeout 200 "$MPIRUN" -n $((${shape%x*} * ${shape#*x})) -x TERN_COLL_LEVELS=${shape#*x} "$work/rows" $sliced
done
for n in 3 ${FULL:+2 5 8 16}; do
  check "$(wc -w <<<"$flat") rows in shared memory at $n ranks" timeout 200 "$MPIRUN" -n $n "$work/rows" $flat
done
check "without copies between processes" timeout 200 "$MPIRUN" -n 3 -x TERN_SM_SINGLE_COPY=pipeline "$work/rows" $flat
check "rows on a described machine" timeout 200 "$MPIRUN" -n 4 -x TERN_COLL_LEVELS='pack:2 core:2' "$work/rows" $rows
check "rows on packages and caches of bound ranks" timeout 200 "$MPIRUN" -n 4 -x HWLOC_SYNTHETIC='pack:2 l3:2 core:2 pu:1' -x TERN_COLL_LEVELS=package,l3 "$work/rows" $rows
check "a wrong hint gives an error with the valid names" sh -c "
  '$MPIRUN' -n 2 '$work/rows' allreduce=rign 2>&1 | grep 'tern_allreduce is \"rign\"; allowed are .*rabenseifner'"
check "a wrong parameter gives an error with the valid names" sh -c "
  '$MPIRUN' -n 2 -x TERN_COLL=allreduce=rign '$work/rows' bcast=linear 2>&1 | grep 'allreduce in TERN_COLL is \"rign\".*rabenseifner'"
totals
