#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares each Fortran procedure with the standard's data: names, parameters, kinds, arrays, directions; and the library's names with
# the interfaces of the modules.
set -eu
standard=${MPI_STANDARD:-$TOP/../shared/mpi-standard}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

library=$(ls "$PREFIX"/lib*/libmpifort_abi.so.1 2>/dev/null | head -n 1)
[ -n "$library" ] || { echo "this Tern was built without a Fortran compiler"; exit 77; }
nm -D --defined-only "$library" | awk '{print $3}' | sort >"$work/exported"
grep -v '^mpi_.*_$\|^pmpi_.*_$\|^mpifort_.*_$' "$work/exported" && { echo "these names must not be exported"; exit 1; }
sed -n 's/^ *\(subroutine\|function\) \([A-Za-z_0-9]*\)(.*/\L\2_/p; s/^ *pure function \([A-Za-z_0-9]*\)(.*/\L\1_/p' \
  "$PREFIX"/lib*/mpifort/mpi.f90 "$PREFIX"/lib*/mpifort/mpi_f08.f90 | grep -v '_function_$\|_function_c_$' | sort -u >"$work/wanted"
[ "$(wc -l <"$work/wanted")" -gt 2000 ] || { echo "the modules have only $(wc -l <"$work/wanted") procedures"; exit 1; }
if [ -n "$(comm -13 "$work/exported" "$work/wanted")" ]; then
  echo "interfaces without a procedure in the library:"; comm -13 "$work/exported" "$work/wanted"; exit 1
fi
echo "the library has the $(wc -l <"$work/wanted") procedures of the modules"
if nm -D --undefined-only "$library" | awk '{print $2}' | grep '^MPIX\?_\|^PMPIX\?_' | sed 's/^P//' | sort -u |
  grep -vxFf <(python3 "$TOP/src/abi/generate.py" --table "$TOP/src/abi/functions.txt" --names); then
  echo "these functions are not of the standard"; exit 1
fi
readelf -d "$library" | grep -q 'NEEDED.*\(mpi\|gfortran\)' && { echo "the library links an MPI or Fortran library"; exit 1; }

if [ ! -r "$standard/mpi-5.0-apis.json" ]; then
  echo "the standard's data are not at $standard (MPI_STANDARD names another folder)"
  exit 77
fi
python3 "$TOP/src/fortran/generate.py" --top "$TOP" --list >"$work/list"
python3 "$TOP/tests/fortran/table.py" "$standard/mpi-5.0-apis.json" <"$work/list"
