#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every kind of wrong argument in every function that has a body: the error class of the standard, a text that names
# function, parameter and value, never a crash.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$TOP/tests/mpi/abi_errors.py" "$TOP" >"$work/errors.c"
"$MPICC" -O0 -g -Wno-int-to-pointer-cast "$work/errors.c" -o "$work/errors"
"$work/errors"
