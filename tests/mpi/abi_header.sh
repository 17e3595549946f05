#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares every constant and prototype of mpi.h with the standard's data and with the table.
set -eu
standard=${MPI_STANDARD:-$TOP/../shared/mpi-standard}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$TOP/src/abi/generate.py" --table "$TOP/src/abi/functions.txt" --prototypes >"$work/table.h"
{ echo '#include <mpi.h>'; sed 's/$/;/' "$work/table.h"; } >"$work/table.c"
${CC:-gcc} -std=c11 -Werror -I"$TOP/include" -fsyntax-only "$work/table.c"
echo "mpi.h has the $(wc -l <"$work/table.h") prototypes of src/abi/functions.txt"

if [ ! -r "$standard/mpi-5.0-abi.json" ]; then
  echo "the standard's data are not at $standard (MPI_STANDARD names another folder)"
  exit 77
fi
python3 "$TOP/tests/mpi/abi_header.py" "$standard" >"$work/check.c"
${CC:-gcc} -std=c11 -I"$TOP/include" -fsyntax-only "$work/check.c"
echo "mpi.h agrees with the standard: $(grep -c '^CONSTANT' "$work/check.c") constants," \
  "$(grep -c 'differs' "$work/check.c") functions"

library=$(ls "$PREFIX"/lib*/libmpi_abi.so.1 2>/dev/null | head -n 1)
[ -n "$library" ] || { echo "there is no libmpi_abi.so.1 under $PREFIX"; exit 1; }
nm -D --defined-only "$library" | awk '{print $3}' | sort >"$work/exported"
sed 'p;s/^/P/' "$standard/abi-functions.txt" | sort >"$work/wanted"
if [ -n "$(comm -13 "$work/exported" "$work/wanted")" ]; then
  echo "not exported:"; comm -13 "$work/exported" "$work/wanted"; exit 1
fi
if comm -23 "$work/exported" "$work/wanted" | grep -v '^P\?MPIX_'; then
  echo "these names must not be exported"; exit 1
fi
echo "the library exports all of them, and nothing else but MPIX_ names"
