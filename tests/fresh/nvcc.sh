# SPDX-License-Identifier: Apache-2.0
# ./configure with an nvcc that compiles no kernel: the error must not come from make. Sourced by
# run. The nvcc is a stub.

# nvcc_that LINE: a stub in $work/cuda/bin. LINE replaces the compilation.
nvcc_that() {
  mkdir -p "$work/cuda/bin"
  stub "$work/cuda/bin/nvcc" 'case "$*" in
  *--list-gpu-arch*) printf "compute_%s\n" 75 80 ;;
  *--version*) echo "Cuda compilation tools, release 11.8, V11.8.89" ;;
  *) '"$1"' ;;
esac'
}
configures() { # configures ARGUMENT...: prints configure's lines on nvcc, and nvcc's variables of make
  local got=0 cache=$work/configure.cache # the other results do not change
  [ ! -e "$cache" ] || sed -i /NVCC/d "$cache"
  rm -rf "$work/configured" && mkdir "$work/configured"
  env -C "$work/configured" PATH="$work/cuda/bin:$PATH" "$top/configure" --cache-file="$cache" CC=gcc CXX=g++ "$@" >"$work/configured/log" 2>&1 || got=$?
  grep -e nvcc -e 'cuda  ' -e '--with-cuda' "$work/configured/log"
  grep -E '^(LEGACY_)?NVCC' "$work/configured/Makefile" || true
  return "$got"
}
too_old() { nvcc_that 'echo "nvcc fatal   : Value c++20 is not defined for option std" >&2; exit 1'; }
# Like an nvcc older than CXX: compiles only with its own host compiler.
refuses_compiler() {
  nvcc_that 'case "$*" in *-ccbin*) echo "error: -- unsupported GNU version!" >&2; exit 1 ;; esac'
}
# says PATTERN... -- COMMAND...: exit 0, and the output has each pattern.
says() {
  local patterns=() output pattern
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  output=$("$@") || { printf '%s\n' "$output"; return 1; }
  printf '%s\n' "$output"
  for pattern in "${patterns[@]}"; do grep -q -E -e "$pattern" <<<"$output" || return 1; done
}
found_and_old() { too_old && says '^NVCC = *$' 'WARNING: .*Value c\+\+20' 'no kernels \(.* cannot compile a kernel' -- configures; }
asked_for_and_old() {
  local output
  too_old && ! output=$(configures --with-cuda="$work/cuda") && printf '%s\n' "$output" &&
    grep -q 'does not compile a kernel: .*Value c++20' <<<"$output"
}
with_another_compiler() {
  refuses_compiler && says '^NVCC = .*/nvcc' '^NVCC_HOST = *$' 'compiles a kernel... yes' -- configures
}
with_this_compiler() { nvcc_that : && says '^NVCC_HOST = -ccbin g\+\+$' -- configures; }
# The stub stands for both toolkits.
with_an_older_one() {
  nvcc_that : && says '^LEGACY_NVCC = .*/nvcc$' '^LEGACY_NVCC_ARCHITECTURES = .*sm_75' 'kernels for 75 80 .*; then kernels for 75 ' -- \
    configures --with-cuda-legacy="$work/cuda/bin/nvcc" --with-cuda-legacy-arch="70 75"
}
older_one_is_away() {
  local output
  nvcc_that : && ! output=$(configures --with-cuda-legacy="$work/nowhere/nvcc") && printf '%s\n' "$output" &&
    grep -q -e '--with-cuda-legacy=.*nowhere/nvcc is not an executable file' <<<"$output"
}

check_nvcc() {
  check "an old nvcc in PATH gives a build without kernels" found_and_old
  check "an old nvcc of --with-cuda ends configure with nvcc's error" asked_for_and_old
  check "an nvcc that refuses CXX uses its own host compiler" with_another_compiler
  check "otherwise the host compiler is CXX" with_this_compiler
  check "an older toolkit gives a second image" with_an_older_one
  check "a missing older toolkit ends configure" older_one_is_away
}
