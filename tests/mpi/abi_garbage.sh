#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Null, garbage, stale and foreign handles in every function that has a body: error classes, never a
# crash.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$TOP/tests/mpi/abi_garbage.py" "$TOP" >"$work/garbage.c"
"$MPICC" -O0 -g -Wno-int-to-pointer-cast "$work/garbage.c" -o "$work/garbage"
"$work/garbage"
