#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The example of examples/gpu uses the device and computes correct results.
# configurations: 1 4-peers 2-apart
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MPICC" -O1 -g "$TOP/examples/gpu/gpu.c" -o "$work/gpu"
for ranks in 1 4; do
  said=$("$MPIRUN" -n $ranks "$work/gpu")
  [ "$(grep -c '^rank [0-9]: memory of GPU [0-9], ' <<<"$said")" = $ranks ] || { echo "not on a device: $said"; exit 1; }
  grep -qx "the sums and columns of all $ranks ranks are right" <<<"$said" || { echo "no result: $said"; exit 1; }
done
