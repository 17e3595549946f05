#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C and Fortran in one program: attributes, statuses, handles, operations; tools in C and in Fortran; default INTEGERs of 8 bytes.
# timeout: 60
set -eu
[ -x "$PREFIX/bin/mpifort" ] || { echo "this Tern was built without a Fortran compiler"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
here=$TOP/tests/fortran

"$MPICC" -Wall -Wextra -Werror -O1 -g -x c -c "$here/languages.inc" -o of_c.o
"$MPIFORT" -Wall -O1 -g -x f95 "$here/languages_f08.inc" -x none of_c.o -o languages
"$MPIRUN" -n 2 ./languages
echo "attributes, statuses, handles and operations across languages"

# Two loaded objects share the COMMON block of the sentinels by RTLD_GLOBAL.
for name in first second; do
  sed "s/NAME/$name/" "$here/loaded_f08.inc" >$name.f90
  "$MPIFORT" -shared -fPIC $name.f90 -o $name.so
done
"$MPICC" -Wall -Wextra -Werror -x c "$here/loader.inc" -o loader
"$MPIRUN" -n 2 ./loader
echo "Fortran in loaded objects"

# A tool in C sees calls of each interface once; a tool in Fortran replaces the specific procedure.
"$MPICC" -shared -fPIC -x c "$here/tool.inc" -o tool.so
for source in "$TOP/tests/fortran/fixed_form.f" "$TOP/tests/fortran/module_f08.f90"; do
  "$MPIFORT" "$source" -o traced
  LD_PRELOAD=$work/tool.so "$MPIRUN" -n 1 ./traced | grep -qx "1 init, 1 finalize" || { echo "the tool does not see $source"; exit 1; }
done
"$MPIFORT" -x f95 "$here/tool_f08.inc" -o tool
"$MPIRUN" -n 1 ./tool | grep -qx " 2 sends" || { echo "the Fortran tool does not see MPI_Send"; exit 1; }
echo "tools in C and in Fortran"

printf "      program main\n      include 'mpif.h'\n      call MPI_INIT(i)\n      call MPI_FINALIZE(i)\n      end\n" >wide.f
"$MPIFORT" -w -fdefault-integer-8 wide.f -o wide 2>linker
"$MPIRUN" -n 1 ./wide 2>&1 | grep -q "default INTEGERs of 8 bytes" || { echo "no message about 8-byte INTEGERs"; exit 1; }
"$MPIFORT" -w wide.f -o narrow
[ -z "$("$MPIRUN" -n 1 ./narrow 2>&1)" ] || { echo "a message about usual INTEGERs"; exit 1; }
echo "a message about 8-byte INTEGERs"
