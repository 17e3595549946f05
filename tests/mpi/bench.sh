# SPDX-License-Identifier: Apache-2.0
# Every benchmark compiles, verifies its data and prints its lines; compare's arithmetic is right.
# timeout: 300
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1

measures() { # measures LINES RANKS PROGRAM ARGUMENTS...: LINES lines `name size ranks value unit`
  local lines=$1 ranks=$2 program=$3
  shift 3
  [ -x "$program" ] || "$MPICC" -std=c11 -O2 -Wall -Wextra "$TOP/tests/bench/$program.c" -o "$program" || return 1
  "$MPIRUN" -n "$ranks" "./$program" --seconds 0.005 "$@" | tee out || return 1
  [ "$(grep -cE "^[a-z_0-9]+ [0-9]+ $ranks [0-9.e+-]+ [A-Za-z/%]+$" out)" = "$lines" ]
}

check "compare's arithmetic" "$TOP/tests/bench/comparison/test"
check "latency" measures 23 2 latency
check "latency, rotating" measures 17 2 latency --rotate 8 --max 65536
check "bandwidth" measures 17 2 bandwidth --max 65536
check "bandwidth, rotating" measures 17 2 bandwidth --rotate 8 --max 65536
check "message rate" measures 1 2 message_rate
check "message rate, tags" measures 1 2 message_rate --window 256 --tags 256
check "message rate, unexpected" measures 1 2 message_rate --window 256 --tags 16 --unexpected
check "ring, more ranks than cores" measures 1 5 ring
check "polling, more ranks than cores" measures 4 5 polling
check "buffers in the heap" measures 11 2 latency --heap --max 1024
check "idle" measures 4 3 idle
check "memory" measures 4 3 memory
check "packing" measures 24 1 pack --max 16384
check "sending layouts" measures 24 2 pack --max 16384
check "communicators" measures 6 3 communicators
check "collectives, 2 ranks" measures 192 2 collectives --max 65536
check "collectives, 3 ranks" measures 192 3 collectives --max 65536
check "buckets" measures 15 3 buckets --max 65536
check "overlap of collectives" measures 18 2 overlap_collectives --max 65536
check "pairs, an even number of ranks" measures 2 4 pairs
check "pairs, an odd number" measures 2 5 pairs
check "an unknown option is refused" sh -c "! $MPIRUN -n 2 ./latency --weather"
check "compare builds, runs and reports" "$TOP/tests/bench/compare" --mpi a="$PREFIX" --mpi b="$MPICC" \
  --bench latency,startup,collectives_persistent --ranks 2 --repeat 1 --budget 0.05 --quiet 0 --svg --out out-of-compare -- --max 4096
check "compare drew a plot" grep -q polyline out-of-compare/latency-2.svg
check "compare drew a sheet of several plots" grep -q '>bcast_init<' out-of-compare/collectives_persistent-2.svg
stopped() { # compare ends its ranks when terminated
  local pid name=$PWD/stopped
  "$TOP/tests/bench/compare" --mpi a="$PREFIX" --bench idle --ranks 2 --budget 20 --quiet 0 --out "$name" &
  pid=$!
  for _ in $(seq 200); do pgrep -f "^$name/.*idle" >/dev/null && break; sleep 0.1; done
  pgrep -f "^$name/.*idle" && kill "$pid" && ! wait "$pid" && ! pgrep -f "^$name/.*idle"
}
check "a terminated compare leaves no rank" stopped
totals
