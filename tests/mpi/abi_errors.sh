#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wrong arguments of every kind give the standard's error class, and a text with function, parameter
# and value.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$TOP/tests/mpi/abi_errors.py" "$TOP" >"$work/errors.c"
"$MPICC" -O0 -g -Wno-int-to-pointer-cast "$work/errors.c" -o "$work/errors"
"$work/errors"
