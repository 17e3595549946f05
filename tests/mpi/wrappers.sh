# SPDX-License-Identifier: Apache-2.0
# The compiler wrappers answer queries of build systems, accept another compiler, and never call
# themselves.
# timeout: 60
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cp "$TOP/tests/cmake/world.c" world.c
cp world.c world.cc
unset CC CXX TERN_CC TERN_CXX


for name in mpicc mpicc_abi mpicxx mpicxx_abi mpic++ mpic++_abi; do
  check "$name is installed" test -x "$PREFIX/bin/$name"
  check "$name -show prints the whole command" says "^[^ ].* -I$PREFIX/include .*-lmpi_abi" "$name" -show world.c
  check "$name -showme:compile" says "^-I$PREFIX/include$" "$name" -showme:compile
  check "$name -showme:link" says "^-L$PREFIX/lib .*-lmpi_abi$" "$name" -showme:link
  check "$name -compile-info" says "-I$PREFIX/include" "$name" -compile-info
  check "$name refuses an unknown query" sh -c "! $name -showme:weather"
done
check "-show runs nothing" test ! -e a.out
check "mpicc compiles and links" mpicc world.c -o from_c
check "mpicxx compiles and links" mpicxx world.cc -o from_cxx
check "mpicxx calls a C++ compiler" says "^[^ ]*+" mpicxx -showme:command
check "-c names no library" sh -c "mpicc -show -c world.c | grep -v lmpi_abi"
printf "#include <mpi.h>\n" >pre.hpp
check "a precompiled header" mpicxx -x c++-header pre.hpp -o pre.hpp.gch
check "-E, -M and the like pass through" says mpi.h mpicc -M world.c
check "-showme:version has the version" says "Tern MPI [0-9][0-9.]*$" mpicc -showme:version
check "--version asks the compiler" says "[0-9]" mpicc --version
check "the program finds the library without LD_LIBRARY_PATH" \
  sh -c "unset LD_LIBRARY_PATH; ldd from_c | grep -q '$PREFIX/lib/libmpi_abi.so.1'"
check "the program has a RUNPATH, no RPATH" sh -c "readelf -d from_c | grep RUNPATH && ! readelf -d from_c | grep '(RPATH)'"
check "CC overrides" says "^other " env CC=other mpicc -show world.c
check "TERN_CC wins" says "^mine -q " env CC=other TERN_CC='mine -q' mpicc -show world.c
check "CXX overrides" says "^other " env CXX=other mpicxx -show world.cc
check "TERN_CXX wins" says "^mine " env CXX=other TERN_CXX=mine mpicxx -show world.cc
check "CC=mpicc does not loop" env CC=mpicc mpicc world.c -o again
printf '#!/bin/sh\nexec mpicxx "$@"\n' >back
chmod +x back
check "a compiler that calls mpicxx does not loop" env CXX="./back -O1" timeout 20 mpicxx world.cc -o again
if [ -x "$PREFIX/bin/mpifort" ]; then
  cp "$TOP/tests/cmake/world.f90" world.f90
  printf "      include 'mpif.h'\n      call MPI_INIT(i)\n      call MPI_FINALIZE(i)\n      end\n" >fixed.f
  for name in mpifort mpif90 mpif77 mpifort_abi; do
    check "$name -show" says "-lmpifort_abi -lmpi_abi$" "$name" -show world.f90
    check "$name compiles a module's user" "$name" world.f90 -o from_fortran
    check "$name compiles fixed form" "$name" fixed.f -o from_fixed
  done
  check "-showme:libs" says "^mpifort_abi mpi_abi$" mpifort -showme:libs
  check "flags for build systems have no option of gfortran" sh -c "! mpifort -showme:compile | grep mismatch"
  check "TERN_FC wins" says "^mine " env FC=other TERN_FC=mine mpifort -show world.f90
  check "FC=mpifort does not loop" env FC=mpifort timeout 20 mpifort world.f90 -o again
  printf '#!/bin/sh\n[ "$1" != -dumpversion ] || { echo 99.1.0; exit; }\nexec gfortran "$@"\n' >future
  chmod +x future
  check "another compiler needs its own modules" says "make-modules" \
    sh -c "TERN_FC=$PWD/future mpifort world.f90 -o never 2>&1 || true"
  check "flang gets its own folder, and no option of gfortran" sh -c "TERN_FC=flang mpifort -show world.f90 | grep -v mismatch | grep mpifort/flang"
  check "pkg-config has the libraries" says "lmpifort_abi -lmpi_abi" \
    env PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig" pkg-config --libs mpi-fort
fi
mkdir elsewhere
ln -s "$PREFIX/bin/mpicc" elsewhere/mpicc
check "a symbolic link finds the same paths" says "-I$PREFIX/include" elsewhere/mpicc -show world.c
printf 'int main(void) { return sizeof(WORD) == 1; }\n' >quoted.c
check "an argument with spaces arrives unchanged" mpicc '-DWORD="two words"' quoted.c -o quoted
check "exit status is the compiler's" sh -c "! mpicc no-such-file.c 2>/dev/null"
totals
