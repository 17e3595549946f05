# SPDX-License-Identifier: Apache-2.0
# Equal inputs give equal bits on all ranks and in all runs, for any order of arrival, with every
# reducing algorithm and the default choice.
# timeout: 600
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
"$MPICC" -O1 -I"$TOP/tests/mpi" -o "$work/bitwise" -x c "$TOP/tests/mpi/coll_bitwise.inc" || exit 1
rows=$("$PREFIX/bin/tern_coll" list | awk '$1 ~ /^(reduce|allreduce|reduce_scatter|scan|exscan)$/ { print $1 "=" $2 }')
same() { # same RANKS ROW...: two runs
  timeout 200 "$MPIRUN" -n "$1" -x TERN_COLL_LEVELS=4,2 "$work/bitwise" "${@:2}" >"$work/one" &&
    timeout 200 "$MPIRUN" -n "$1" -x TERN_COLL_LEVELS=4,2 "$work/bitwise" "${@:2}" >"$work/two" &&
    [ "$(wc -l <"$work/one")" -ge 6 ] && diff "$work/one" "$work/two"
}
for n in 2 3 4 8; do
  check "the default choice on $n ranks" same $n default
done
for n in ${FULL:+2 3 4 7 8} 5; do
  check "$(wc -w <<<"$rows") rows on $n ranks" same "$n" $rows
done
# Another order of additions gives other bits, so the test can detect a change.
"$MPIRUN" -n 5 "$work/bitwise" $rows >"$work/all"
check "algorithms differ" [ "$(awk '$2 == "allreduce" { print $3 }' "$work/all" | sort -u | wc -l)" -gt 1 ]
totals
