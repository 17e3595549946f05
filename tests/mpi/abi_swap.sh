#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program of MPICH 5's mpicc_abi runs on Tern, and a program of Tern's mpicc runs on MPICH. MPICH
# comes from PyPI, or from PEERS (tests/bench/setup-peers).
# timeout: 300
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpich=${PEERS:-$work}/mpich
if [ ! -x "$mpich/bin/mpicc_abi" ]; then
  { python3 -m venv "$mpich" && "$mpich/bin/pip" install --disable-pip-version-check 'mpich>=5'; } >"$work/log" 2>&1 ||
    { echo "MPICH cannot be installed from PyPI: $(tail -n 1 "$work/log")"; exit 77; }
fi
tern_lib=$(dirname "$(ls "$PREFIX"/lib*/libmpi_abi.so.1 | head -n 1)")

run() { # run WHAT LIBRARY-PATH EXPECTED COMMAND...
  local what=$1 path=$2 expected=$3 output
  shift 3
  output=$(LD_LIBRARY_PATH=$path "$@" 2>&1) || { echo "$what failed:"; echo "$output"; exit 1; }
  case $output in
    *"$expected"*) echo "$what: $output" ;;
    *) echo "$what did not run on $expected: $output"; exit 1 ;;
  esac
}

"$mpich/bin/mpicc_abi" -O1 "$TOP/tests/mpi/abi_program.c" -o "$work/by_mpich"
"$MPICC" -O1 "$TOP/tests/mpi/abi_program.c" -o "$work/by_tern"
for ranks in 1 2 4; do
  run "built by MPICH, run on Tern" "$tern_lib" "library: Tern" "$MPIRUN" -n $ranks "$work/by_mpich"
  run "built by Tern, run on MPICH" "$mpich/lib" "library: MPICH" "$mpich/bin/mpiexec" -n $ranks "$work/by_tern"
done

# Fortran: the same program, and libmpifort_abi.so.1 of Tern over MPICH's libmpi_abi.so.1.
[ -x "$PREFIX/bin/mpifort" ] || exit 0
mkdir "$work/fortran"
ln -s "$tern_lib/libmpifort_abi.so.1" "$work/fortran"
for source in fixed_form.f sections.f90; do
  "$MPIFORT" -O1 "$TOP/tests/fortran/$source" -J "$work" -o "$work/program"
  for ranks in 1 2; do
    LD_LIBRARY_PATH=$mpich/lib:$work/fortran "$mpich/bin/mpiexec" -n $ranks "$work/program" 20
    LD_LIBRARY_PATH=$tern_lib "$MPIRUN" -n $ranks "$work/program" 20
    echo "$source built by Tern, run on MPICH and on Tern, $ranks ranks"
  done
done
