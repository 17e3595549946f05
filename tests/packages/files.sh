# SPDX-License-Identifier: Apache-2.0
# Files of every package: the CMake package and the module files. Sourced by run.

configured() { env -u TERN_PREFIX cmake -S "$here" -B "$build/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$1"; }
refuses() { rm -rf "$build/cmake-refused"; ! cmake -S "$here" -B "$build/cmake-refused" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$1" 2>&1 | tee /dev/stderr | grep -q 'Generating done'; }
moved() { # a copy elsewhere serves, too
  rm -rf "$build/moved" && cp -a "$prefix" "$build/moved" &&
    cmake -S "$here" -B "$build/cmake-moved" -DCMAKE_PREFIX_PATH="$build/moved" &&
    cmake --build "$build/cmake-moved" && ldd "$build/cmake-moved/hello" | grep -q "$build/moved/lib/libmpi_abi.so.1"
}
sets_paths() { # sets_paths COMMAND...: after the commands, PATH, MPICC and the others begin with the prefix
  local got
  got=$(env -i HOME="$build" PATH=/usr/bin:/bin bash -c "$1; printf '%s\n' \"\$PATH\" \"\$MPICC\" \"\$PKG_CONFIG_PATH\" \"\$MANPATH\" \"\$LD_LIBRARY_PATH\"; mpicc -showme:version")
  printf '%s\n' "$got"
  diff <(head -n 3 <<<"$got") - <<END && sed -n 4p <<<"$got" | grep -q "^$prefix/share/man:" && sed -n 5p <<<"$got" | grep -q "^$prefix/lib"
$prefix/bin:/usr/bin:/bin
$prefix/bin/mpicc
$prefix/lib/pkgconfig
END
}

if command -v cmake >/dev/null; then
  check "find_package(Tern)" configured "${version%.*}"
  check "its version" grep -q "Tern_VERSION $version" "$log"
  check "its mpiexec" grep -q "Tern_MPIEXEC $prefix/bin/mpiexec" "$log"
  check "its target builds" cmake --build "$build/cmake"
  check "the program runs" prints "$one_hello" "$prefix/bin/mpirun" -n 2 "$build/cmake/hello"
  check "a newer version is refused" refuses 99.0
  check "an older series is refused" refuses 0.0.1
  check "find_package(Tern) in a moved copy" moved
else
  skip "find_package(Tern)" "cmake is not installed"
fi

modules=$prefix/share/modulefiles
if [ -r /usr/share/modules/init/bash ]; then
  check "Environment Modules load tern" sets_paths ". /usr/share/modules/init/bash; module use $modules; module load tern"
else
  skip "Environment Modules" "the package environment-modules is not installed"
fi
if [ -r /usr/share/lmod/lmod/init/bash ]; then
  check "Lmod loads tern" sets_paths ". /usr/share/lmod/lmod/init/bash; module use $modules; module load tern"
else
  skip "Lmod" "the package lmod is not installed"
fi
