#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tern_coll tune --device measures what is put into streams, and its table is one that the library
# reads and follows; without a GPU it says what is missing.
# configurations: 1 4-peers
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune allreduce --device --bytes=2k --output="$work/table"
grep -Eq '^allreduce +3 .* streams$' "$work/table" || { echo "no line for streams:"; cat "$work/table"; exit 1; }
grep -Eq '^# allreduce 2k: .*ring [0-9.]+ us' "$work/table" || { echo "ring was not measured:"; cat "$work/table"; exit 1; }
! grep -Eq '^(within|reduce|copy) ' "$work/table" || { echo "figures of the host:"; cat "$work/table"; exit 1; }
if said=$(TERN_COLL_TABLE="$work/table" "$MPIRUN" -n 3 "$PREFIX/bin/tern_coll" tune barrier --device --output=/dev/null 2>&1); then
  ! grep -q "$work/table" <<<"$said" || { echo "the table is not understood: $said"; exit 1; }
else
  echo "the table is refused: $said"; exit 1
fi
said=$(SOFTCUDA_DEVICES=0 "$MPIRUN" -n 2 "$PREFIX/bin/tern_coll" tune allreduce --device 2>&1) && { echo "no GPU, no error"; exit 1; }
grep -q "tune --device needs a GPU on each rank" <<<"$said" || { echo "not said why: $said"; exit 1; }
