#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/digits --device: steps in streams and in a graph reach equal weights, good enough to read
# digits.
# configurations: 1 2-apart
# full-configurations: 4-peers
# timeout: 120
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MPICXX" -O2 -std=c++17 "$TOP/examples/digits/digits.cc" -o "$work/digits"
for ranks in 1 3; do
  said=$("$MPIRUN" -n $ranks "$work/digits" --device --epochs 3 --data "$TOP/examples/digits/data/digits.txt")
  grep -q "training on the host" <<<"$said" && { echo "not on a device: $said"; exit 1; }
  grep -q "All ranks hold bitwise the same weights: yes" <<<"$said" || { echo "ranks differ: $said"; exit 1; }
  grep -q "ends with the same weights as the graph: yes" <<<"$said" || { echo "the graph differs: $said"; exit 1; }
  grep -Eq "The network reads 9[0-9]\.[0-9] %" <<<"$said" || { echo "the network learns nothing: $said"; exit 1; }
done
