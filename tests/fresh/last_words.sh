# SPDX-License-Identifier: Apache-2.0
# Ends of ./quickstart after unforeseen failures. Sourced by run. All called programs are stubs in a
# private folder, so nothing is built or installed.

# stub FILE COMMANDS
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; }

# stubs: a tree in $work/stubs/tree with an empty build, and a PATH with every package except
# GoogleTest.
stubs() {
  local stubs=$work/stubs name
  rm -rf "$stubs"
  mkdir -p "$stubs"/{bin,tree/tests,tree/examples/digits}
  cp "$top/quickstart" "$stubs/tree"
  cp "$top/tests/suites.sh" "$stubs/tree/tests"
  for name in autoreconf automake libtoolize g++ gfortran python3 readelf clang-format cmake mandoc gdb pgrep slurmctld munged nft ssh debootstrap \
    qemu-system-x86_64 busybox cpio depmod xz iwpmd ibv_devices otf2-print; do
    stub "$stubs/bin/$name" 'exit 0'
  done
  stub "$stubs/bin/pkg-config" 'case $* in *--modversion*gtest*) exit 1 ;; *--modversion*) echo 1.0 ;; esac'
  stub "$stubs/bin/apt-get" 'echo "apt-get $*" >&2; exit 1'
  stub "$stubs/bin/make" 'mkdir -p _install/bin; for tool in mpicxx mpirun; do printf "#!/bin/sh\n" >_install/bin/$tool; chmod +x _install/bin/$tool; done'
  stub "$stubs/tree/configure" ': >Makefile'
}
with_stubs() { env -C "$work/stubs/tree" PATH="$work/stubs/bin:/usr/bin:/bin" ./quickstart "$@"; }

# Each function prints its output. The caller compares the end with a pattern.
without_googletest() { stubs && with_stubs; }
unforeseen() { stubs && mkdir -p "$work/stubs/tree/_build/.configured" && with_stubs build; }
suite_that_dies() {
  stubs && printf 'suite_lint() { echo begun; false; echo "1 passed, 0 failed, 0 skipped"; }\n' >>"$work/stubs/tree/tests/suites.sh"
  with_stubs check lint
}
failing_suite() {
  stubs && printf 'suite_lint() { echo "1 passed, 2 failed, 3 skipped"; false; }\n' >>"$work/stubs/tree/tests/suites.sh"
  with_stubs check lint
}
# The list has the suite, the FAIL line and the reason.
failures_at_the_end() {
  stubs && stub "$work/stubs/tree/tests/listed" : && cat >>"$work/stubs/tree/tests/suites.sh" <<'SUITE'
suite_lint() {
  printf '%s\n' 'FAIL tests/x.sh (2 s)' '    PASS a' '    FAIL b: is 3' '    trace' '    again: x.sh' 'PASS y' '1 passed, 1 failed, 0 skipped'
  false
}
SUITE
  with_stubs check lint | sed -n '/^== failures/,$p'
  return 1
}
# Lines of hosts come after the lines of parallel suites.
suites_beside() {
  local name order
  stubs && for name in cmake packages images differential; do
    printf 'suite_%s() { echo "%s"; echo "1 passed, 0 failed, 0 skipped"; }\n' "$name" "$name"
  done >>"$work/stubs/tree/tests/suites.sh"
  printf 'suite_hosts() { sleep 0.3; echo hosts; %s; echo "1 passed, 1 failed, 0 skipped"; return 1; }\n' "$1" >>"$work/stubs/tree/tests/suites.sh"
  with_stubs check hosts cmake packages images differential | tee "$work/beside"
  order=$(grep -E '^(cmake|packages|images|differential|hosts)$' "$work/beside" | tr '\n' ' ')
  [ "$order" = 'cmake packages images differential hosts ' ] && tail -n 1 "$work/beside"
}
interrupted() {
  stubs && stub "$work/stubs/bin/make" 'echo $$ >pid; exec sleep 60'
  env -C "$work/stubs/tree" PATH="$work/stubs/bin:/usr/bin:/bin" timeout -s INT 2 ./quickstart build
}
lint_that_dies() {
  rm -rf "$work/lint" && mkdir "$work/lint" && cp "$top/tests/lint/run" "$work/lint" && stub "$work/lint/dies" 'exit 3' && "$work/lint/run"
}
nothing_left() { ! kill -0 "$(cat "$work/stubs/tree/pid")"; }

# ends CODE PATTERN COMMAND...: exit CODE, and the last line of both streams has PATTERN.
ends() {
  local code=$1 pattern=$2 got=0 output
  shift 2
  output=$("$@" 2>&1) || got=$?
  printf 'exit %s: %s\n' "$got" "$output"
  [ "$got" = "$code" ] && tail -n 1 <<<"$output" | grep -q -E -e "$pattern"
}

check_last_words() {
  check "quickstart without GoogleTest continues with the demonstration" ends 0 '^running: .*mpirun -n 4' without_googletest
  check "an unforeseen error has status and line" fails 1 '^quickstart: ended with status 1 at quickstart, line [0-9]*: printf' unforeseen
  check "the last line is the cure" ends 1 '^quickstart: .*bash -x' unforeseen
  check "a failing command of a suite is reported" says_and_fails '^quickstart: ended with status 1 at suites.sh, line [0-9]*: false' \
    suite_that_dies
  check "a crashed lint is named" says_and_fails '^FAIL dies: ended with status 3' lint_that_dies
  check "failed tests end with the totals" ends 1 '^1 passed, 2 failed, 3 skipped$' failing_suite
  check "the failures stand before the totals" prints_and_fails \
    $'== failures\nlint: FAIL tests/x.sh (2 s)\n    FAIL b: is 3\n1 passed, 1 failed, 0 skipped' failures_at_the_end
  check "a parallel suite counts" ends 0 '^5 passed, 1 failed, 0 skipped$' suites_beside :
  check "a parallel suite that crashes counts" ends 0 '^4 passed, 1 failed, 0 skipped$' suites_beside false
  check "an interrupted run prints a message" ends 124 '^quickstart: interrupted' interrupted
  check "an interrupted run leaves no process" nothing_left
}
prints_and_fails() { # prints_and_fails TEXT COMMAND...
  local output
  output=$("${@:2}" 2>&1) && return 1
  diff <(printf '%s' "$1") <(printf '%s' "$output")
}
says_and_fails() { # says_and_fails PATTERN COMMAND...: stdout has PATTERN, and the last line counts one failure
  local pattern=$1 output
  shift
  output=$("$@" 2>&1) && return 1
  printf '%s\n' "$output"
  grep -q -e "$pattern" <<<"$output" && [ "$(tail -n 1 <<<"$output")" = '0 passed, 1 failed, 0 skipped' ]
}
