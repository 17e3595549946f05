#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tern_coll tune --device measures enqueued collectives by all available wires and writes a table
# accepted by the library. Without a GPU the command names the requirement.
# configurations: 1 4-peers
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune allreduce --device --bytes=2k --output="$work/table"
grep -Eq '^allreduce +3 .* (streams|wire (simple|ll|ll128|bulk|multimem))$' "$work/table" || { echo "no line for streams:"; cat "$work/table"; exit 1; }
grep -Eq '^# allreduce 2k: .*ring [0-9.]+ us' "$work/table" || { echo "ring was not measured:"; cat "$work/table"; exit 1; }
! grep -Eq '^(within|reduce|copy) ' "$work/table" || { echo "figures of the host:"; cat "$work/table"; exit 1; }
! grep -q 'wire ll ' "$work/table" || { echo "LL, the default wire, was measured twice:"; cat "$work/table"; exit 1; }
# Engines without a verdict on a real GPU are marked.
if [ "${SOFTCUDA_MULTICAST:-}" = on ]; then
  said=$(TERN_EXPLAIN=1 "$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune allreduce --device --bytes=2k --output=/dev/null 2>&1)
  for engine in $(sed -nE 's/.* goes into the stream by the ([a-z]+) engine .*/\1/p' <<<"$said" | sort -u); do
    grep -q "^$engine " "$TOP/coll/gpu/verdicts.txt" || marked=$engine
    unmarked=$(grep -F "goes into the stream by the $engine engine" <<<"$said" | grep -vF "not yet run on hardware" || true)
    [ "${marked:-}" != "$engine" ] || [ -z "$unmarked" ] || { echo "$engine is not marked: $unmarked"; exit 1; }
  done
  [ -n "${marked:-}" ] || grep -q '^[a-z]' "$TOP/coll/gpu/verdicts.txt" || { echo "no explanation: $said"; exit 1; }
fi
lines=$work/table
if [ "${SOFTCUDA_MULTICAST:-}" = on ]; then
  for wire in simple ll128 multimem; do
    grep -Eq "^# allreduce 2k: .*two_shot wire $wire [0-9.]+ us" "$work/table" || { echo "$wire was not measured:"; cat "$work/table"; exit 1; }
  done
  # On the software driver LL128 is several times slower than LL, and the table names a faster wire.
  lines=$work/wires
  TERN_GPU_WIRE=ll128 "$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune allreduce one_shot --device --bytes=512 --output="$lines"
  grep -Eq '^allreduce +3 .* one_shot +wire (ll|simple)$' "$lines" || { echo "no wire is named:"; cat "$lines"; exit 1; }
fi
if said=$(TERN_COLL_TABLE="$lines" "$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune barrier --device --output=/dev/null 2>&1); then
  ! grep -q "$lines" <<<"$said" || { echo "the table is not understood: $said"; exit 1; }
else
  echo "the table is refused: $said"; exit 1
fi
said=$(SOFTCUDA_DEVICES=0 "$MPIRUN" -n 2 "$PREFIX/bin/tern_coll" tune allreduce --device 2>&1) && { echo "no GPU, no error"; exit 1; }
grep -q "tune --device needs a GPU on each rank" <<<"$said" || { echo "no reason given: $said"; exit 1; }
