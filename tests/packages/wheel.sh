# SPDX-License-Identifier: Apache-2.0
# The wheel: two equal builds, hello in an empty environment, beside MPICH's wheel in both orders. Sourced by run.

make_wheel() { CC=gcc SOURCE_DATE_EPOCH=1750000000 "$top/packaging/wheel/build" --installed "$prefix" --out "$build/$1"; }
equal_wheels() { [ "$(cat "$build"/one/*.whl | sha256sum)" = "$(cat "$build"/two/*.whl | sha256sum)" ]; }
environment() { # environment NAME WHEEL...: an empty virtual environment, then each wheel
  python3 -m venv "$build/$1" && shift_wheels "$@"
}
shift_wheels() {
  local name=$1 each
  shift
  for each in "$@"; do
    "$build/$name/bin/pip" install --disable-pip-version-check --no-index --no-deps --force-reinstall "$each" || return 1
  done
}
compiles() { bare "$build/$1" mpicc "$here/hello.c" -o "$build/$1/hello"; }
runs() { prints "$one_hello" bare "$build/$1" "${2:-mpirun}" -n 2 "$build/$1/hello"; }
needs_version_0() { # linked with a stub of version 0 that has the functions of hello.c
  grep -o 'MPI_[A-Z][a-z_]*(' "$here/hello.c" | sed 's/(/(void) {}/; s/^/void /' | sort -u >"$build/stub.c"
  gcc -shared -fPIC "$build/stub.c" -Wl,-soname,libmpi_abi.so.0 -o "$build/libstub.so" &&
    gcc "$here/hello.c" -I"$build/alone/include" "$build/libstub.so" -Wl,-rpath,"$build/alone/lib" -o "$build/hello0" &&
    readelf -d "$build/hello0" | tee /dev/stderr | grep -q 'NEEDED.*libmpi_abi.so.0' &&
    prints "$one_hello" bare "$build/alone" mpirun -n 2 "$build/hello0"
}
no_compiler() { # only mpirun's own folder and no PATH: as on a machine without compiler, readlink or dirname
  prints "$one_hello" env -i "$build/alone/bin/mpirun" -n 2 "$build/alone/hello"
}
leaves_nothing() {
  "$build/alone/bin/pip" uninstall -y tern-mpi && ! find "$build/alone" -newer "$build/before" -name '*mpi*' -type f ! -name hello | grep .
}
by_pkgconfig() {
  local flags
  flags=$(PKG_CONFIG_PATH=$build/alone/lib/pkgconfig pkg-config --cflags --libs tern) &&
    [ "$(PKG_CONFIG_PATH=$build/alone/lib/pkgconfig pkg-config --modversion tern)" = "$version" ] &&
    gcc "$here/hello.c" $flags -o "$build/hello-pc" && prints "$one_hello" bare "$build/alone" mpirun -n 2 "$build/hello-pc"
}
reports() { # reports NAME PATTERN: tern_info has the sentence, on several lines
  bare "$build/$1" tern_info | tr -s ' \n' ' ' | tee /dev/stderr | grep -q "$2"
}

check "the wheel is built" make_wheel one
check "a second build is equal" make_wheel two
check "the wheels have equal bytes" equal_wheels
wheel=$(echo "$build"/one/*.whl) && tag=${wheel##*-none-} && tag=${tag%.whl}
check "README.md names the tag $tag" grep -q "$tag" "$top/README.md" "$top/packaging/README.md"
check "an empty environment" environment alone "$wheel"
touch "$build/before"
check "mpicc of the wheel compiles" compiles alone
check "hello on 2 ranks" runs alone
check "hello by mpiexec" runs alone mpiexec
check "hello without PATH" no_compiler
check "pkg-config of the wheel" by_pkgconfig
check "a program for version 0 of the ABI" needs_version_0
check "one library, no conflict" sh -c "! '$build/alone/bin/tern_info' | grep WHEELS"
check "no fault in modes, search paths and segments" "$here/hardened" "$build/alone/lib"
check "no fault in the programs" "$here/hardened" "$build/alone/bin"

mpich() { "$build/alone/bin/pip" download --disable-pip-version-check -q --no-deps -d "$build/mpich" mpich; }
if mpich >"$build/mpich.log" 2>&1; then
  other=$(echo "$build"/mpich/*.whl)
  check "MPICH's wheel, then Tern's" environment second "$other" "$wheel"
  check "hello of the second wheel compiles" compiles second
  check "hello of the second wheel runs" runs second
  check "mpirun reports MPICH's wheel" sh -c "'$build/second/bin/mpirun' -n 1 true 2>&1 | tee /dev/stderr |
    grep -q '^mpirun: the wheels tern-mpi and mpich both own files of .*bin/mpirun.*library is Tern.s: keep one, by pip uninstall mpich'"
  check "mpirun --quiet is silent" sh -c "! '$build/second/bin/mpirun' --quiet -n 1 true 2>&1 | grep wheels"
  check "tern_info reports MPICH's wheel" reports second 'WHEELS .*and the library is Tern'
  check "Tern's wheel, then MPICH's" environment first "$wheel" "$other"
  check "tern_info reports the replaced library" reports first "WHEELS .*and the library is mpich's"
  check "MPICH's wheel is removed" "$build/first/bin/pip" uninstall -y mpich
  check "tern_info reports the removed library" reports first 'libmpi_abi.so.1 of the wheel tern-mpi is missing'
  check "the cure" shift_wheels first "$wheel"
  check "hello after the cure compiles" compiles first
  check "hello after the cure runs" runs first
  check "no report after the cure" sh -c "! '$build/first/bin/tern_info' | grep WHEELS"
else
  skip "MPICH's wheel" "not from PyPI: $(tail -n 1 "$build/mpich.log")"
fi
check "pip uninstall leaves no file" leaves_nothing
