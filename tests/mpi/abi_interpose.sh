#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profiler that interposes every function sees each call of abi_errors.py and abi_program.c once,
# and no call of the library itself.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$TOP/tests/mpi/abi_interpose.py" "$TOP" >"$work/interpose.c"
python3 "$TOP/tests/mpi/abi_errors.py" "$TOP" >"$work/errors.c"
cp "$TOP/tests/mpi/abi_program.c" "$TOP/tests/mpi/check.h" "$work"
cat >"$work/judge.c" <<'END'
int the_program(int argc, char** argv);
int interposed(void);
int main(int argc, char** argv) { return the_program(argc, argv) != 0 || interposed() != 0; }
END
run() { # run PROGRAM LAUNCHER...
  "$MPICC" -O0 -g -Wno-int-to-pointer-cast -Dmain=the_program -c "$work/$1.c" -o "$work/$1.o"
  "$MPICC" -O0 -g "$work/judge.c" "$work/interpose.c" "$work/$1.o" -o "$work/$1"
  "${@:2}" "$work/$1" >"$work/out" || { cat "$work/out"; exit 1; }
  grep 'interposed, ' "$work/out" | sort -u
}
run errors
run abi_program "$MPIRUN" -n 2
