# SPDX-License-Identifier: Apache-2.0
# The suites of ./quickstart check, and the totals. Sourced by quickstart. A suite is a function suite_NAME with a last line
# "N passed, N failed, N skipped", and a name in a list below. The usual suites take 20 minutes on two cores from an empty
# build; slow tests with little more coverage belong to --full.
usual_suites=(fresh lint conformance unit mpi gpu hosts cmake images differential asan network tsan torch-smoke)
long_suites=(clang dist fuzz tidy torch mpi-asan mpi-tsan gpu-asan gpu-tsan streams-asan streams-tsan)
other_suites=(abi)
full=

# build_units DIR OPTION...: builds the unit tests selected by options of tests/unit/run, and the software driver.
build_units() {
  local dir=$1 programs
  shift
  make -s -C "$dir" Makefile >/dev/null
  programs=$(tests/unit/run --build "$dir" --programs "$@")
  # shellcheck disable=SC2086  # several words
  make -C "$dir" -j "$jobs" BUILD="$programs" units-built
}
unit_tests_in() {
  local dir=$1
  shift
  step "build units ${dir##*/}" "the compiler's message is in the log" build_units "$dir" "$@"
  $(fixed_addresses) tests/unit/run --build "$dir" --jobs "$jobs" "$@"
}

# ThreadSanitizer of older compilers does not start under the address randomisation of newer kernels.
fixed_addresses() { setarch -R true 2>/dev/null && echo setarch -R || true; }

# The suite asan runs the tests outside of `optimised`; with --full both suites run all tests.
suite_unit() {
  local options=("${optimised[@]}")
  [ -z "$full" ] || { export TEST_LONG=1; options=(); } # more ranks, counts, roots
  unit_tests_in "$build" "${options[@]}"
}
# Sanitizers multiply the time of single-threaded proofs and sweeps, and skip most collectives in streams.
optimised=(coll/verify_test coll/engine_test coll/neighbors_test coll/lower_test coll/hosts_test coll/simulate_test
  coll/stream_test coll/kernel_run_test coll/lines_run_test base/params_test cuda/functions_test)
proofs=(--without coll/verify_test --without coll/engine_test --without coll/neighbors_test)
lowered=(--without coll/lower_test --without coll/hosts_test --without coll/simulate_test)
# Rooms without threads take half of ThreadSanitizer's build time.
single_threaded=(--without unit/core/ --without unit/topo/ --without unit/tools/ --without unit/abi/ --without unit/api/)

# With --full, suite_network also runs collectives, with another seed each time.
suite_network() {
  local seed=1 what=pml/
  [ -z "$full" ] || seed=$RANDOM what=/
  configure_sanitized "$top/_build-asan" "${sanitizers[asan]}"
  say "seed $seed"
  unit_tests_in "$top/_build-asan" --network "$seed" "$what"
}

suite_asan() { sanitized asan; }
suite_tsan() { sanitized tsan; }
# options_of NAME: sets `options` for tests/unit/run.
options_of() {
  options=("${proofs[@]}" "${lowered[@]}")
  case $1$full in
    asan--full) options=() ;;
    tsan--full) options=("${proofs[@]}" --without core/external32_test --without core/datatype_test) ;;
    tsan) options+=("${single_threaded[@]}") ;;
  esac
}
declare -A sanitizers=([asan]=address,undefined [tsan]=thread)
sanitized() {
  local options
  options_of "$1"
  configure_sanitized "$top/_build-$1" "${sanitizers[$1]}"
  unit_tests_in "$top/_build-$1" "${options[@]}"
}
configure_sanitized() {
  # A null access faults without a sanitizer, and its checks take a quarter of the compile time. With ThreadSanitizer, -Og
  # compiles faster than -O0 and -O1.
  local flags='-O0 -g1 -fno-sanitize=null'
  [ "$2" != thread ] || flags='-Og -g1'
  configure_in "$1" --with-cuda=no --enable-sanitizers="$2" CFLAGS="$flags" CXXFLAGS="$flags"
}
suite_clang() {
  local dir=$top/_build-clang
  CC=clang CXX=clang++ configure_in "$dir" --with-cuda=no --enable-werror --disable-unity
  # clang also compiles the driver's tests, because another compiler has other warnings.
  step "build _build-clang" "the compiler's message is in the log" make -C "$dir" -j "$jobs" tests-built
  unit_tests_in "$dir"
}
suite_images() { tests/images/run --build "$top/_build-images" $full; }
suite_differential() {
  tests/differential/run --prefix "$prefix" --build "$build/differential" --peers "$build/peers" --jobs "$jobs" $full
}
# suite_conformance compares README's figures with the last recorded runs; the runs need sources outside of the repository.
suite_conformance() { tests/conformance/run figures --check --prefix "$prefix"; }
suite_mpi() { tests/mpi/run --prefix "$prefix" --build "$build/mpi-tests" $full; }
suite_hosts() {
  build_driver
  ${prte:+env TERN_PRTE="$prte"} tests/hosts/run --prefix "$prefix" --build "$build/mpi-tests" $full
}
build_driver() {
  step "build the software driver" "the compiler's message is in the log" make -C "$build" -j "$jobs" driver-built
}
suite_gpu() {
  build_driver
  tests/gpu/run --prefix "$prefix" --tree "$build" $full
}
suite_abi() { tests/mpi/run --prefix "$prefix" --build "$build/mpi-tests" $full mpi/abi; }
# Without --full, each program runs at 2 ranks.
suite_mpi-asan() {
  local some=(--ranks 2)
  [ -z "$full" ] || some=()
  sanitized_mpi asan address,undefined "${some[@]}"
}
suite_mpi-tsan() { sanitized_mpi tsan thread mpi/threads mpi/grequest mpi/partitioned mpi/tool_events mpi/interrupt mpi/continuations; }
# The software driver is sanitized, too. Without --full, each program of tests/gpu runs at 2 ranks, on one GPU and on four linked
# GPUs.
suite_gpu-asan() { sanitized_gpu asan address,undefined; }
suite_gpu-tsan() { sanitized_gpu tsan thread; }
sanitized_gpu() {
  local dir=$top/_build-$1 some=(--ranks 2 --machine 1 --machine 4-peers)
  [ -z "$full" ] || some=()
  install_sanitized "$dir" "$2"
  step "build the software driver" "the compiler's message is in the log" make -C "$dir" -j "$jobs" softcuda
  $(fixed_addresses) tests/gpu/run soft mpi/ --prefix "$dir/stage$prefix" --tree "$dir" --sanitizers "$2" \
    --timeout-scale 5 $full "${some[@]}"
}
# asan and tsan skip collectives in streams, which take minutes in a sanitized build.
suite_streams-asan() { sanitized_streams asan address,undefined; }
suite_streams-tsan() { sanitized_streams tsan thread; }
sanitized_streams() {
  local dir=$top/_build-$1 tests=(coll/kernel_run_test coll/lines_run_test coll/stream_test)
  configure_sanitized "$dir" "$2"
  step "build ${dir##*/}" "the compiler's message is in the log" make -C "$dir" -j "$jobs" "${tests[@]/#/tests/unit/}" softcuda
  TEST_LONG=1 HOST_KERNELS_TIMEOUT=120 $(fixed_addresses) tests/unit/run --build "$dir" --timeout 900 "${tests[@]}"
}
install_sanitized() {
  configure_sanitized "$1" "$2"
  step "build ${1##*/}" "the compiler's message is in the log" make -C "$1" -j "$jobs"
  step "install ${1##*/}" "is ${1##*/} writable?" make -C "$1" install DESTDIR="$1/stage"
}
sanitized_mpi() {
  local dir=$top/_build-$1 list=$2
  shift 2
  install_sanitized "$dir" "$list"
  $(fixed_addresses) tests/mpi/run --prefix "$dir/stage$prefix" --build "$dir/mpi-tests" --sanitizers "$list" \
    --timeout-scale 5 $full "$@"
}
suite_lint() { tests/lint/run --prefix "$prefix" $full; }
# Only clang has libFuzzer.
suite_fuzz() {
  local dir=$top/_build-fuzz
  CC=clang CXX=clang++ configure_in "$dir" --enable-sanitizers=fuzzer-no-link,address,undefined \
    CFLAGS='-O1 -g1' CXXFLAGS='-O1 -g1'
  step "build fuzz targets" "the compiler's message is in the log" make -C "$dir" -j "$jobs" fuzz-built
  tests/fuzz/run --build "$dir"
}
suite_cmake() { tests/cmake/run --prefix "$prefix" --build "$build/cmake-test"; }
suite_fresh() { tests/fresh/run --prefix "$prefix" --build "$build" $full; }
suite_torch-smoke() { tests/torch/run --prefix "$prefix" --build "$build/torch" --smoke; }
suite_torch() { tests/torch/run --prefix "$prefix" --build "$build/torch" $full; }
suite_tidy() { tests/tidy/run --build "$build"; }
suite_dist() { tests/dist/run --build "$build"; }

# Sets cpu: CPU seconds of the shell's ended children.
look_at_cpu() { # not in a subshell, which has its own children
  times >"$logs/times"
  cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$logs/times")
}

# These suites leave a core idle at times (downloads, sleeping ranks). Compilers for later suites run meanwhile, at low priority.
waiting_suites=' fresh mpi '
ahead=
begin_ahead() {
  local wanted=" ${suites[*]} " name options
  set -m # a process group of its own
  (
    trap - EXIT ERR
    renice -n 19 "$BASHPID"
    [[ $wanted != *" gpu "* ]] || make -C "$build" -j "$jobs" driver-built
    [[ $wanted != *" unit "* ]] || build_units "$build" "${optimised[@]}"
    for name in asan tsan; do
      [[ $wanted == *" $name "* ]] || continue
      options_of "$name"
      configure_sanitized "$top/_build-$name" "${sanitizers[$name]}"
      build_units "$top/_build-$name" "${options[@]}"
    done
  ) >"$logs/ahead.log" 2>&1 </dev/null &
  ahead=$!
  set +m
}
# A killed compiler leaves no output, so make continues.
end_ahead() {
  [ -n "$ahead" ] || return 0
  end_group "$ahead"
  ahead=
}

# perform NAME: runs a suite. check-NAME.end describes an early end.
perform() {
  local end=$logs/check-$1.end
  (set -e; ahead=; beside=; trap 'last_words $? 2>"$end"' EXIT; "suite_$1") 2>&1
}
without_totals() { sed -u -E "/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/d"; }

# run_suite NAME: shows the suite's lines and adds the totals.
run_suite() {
  local name=$1 start=$SECONDS cpu before log=$logs/check-$1.log status
  say "== $name"
  look_at_cpu
  before=$cpu
  [[ $waiting_suites != *" $name "* ]] || begin_ahead
  set +e  # not "||": inside of one, a suite's commands might fail unseen
  perform "$name" | tee "$log" | without_totals
  status=$?
  set -e
  end_ahead
  look_at_cpu
  conclude "$name" "$status" "$((SECONDS - start)) s, CPU $((cpu - before)) s"
}

# conclude NAME STATUS TIME: adds the totals in the log. A suite without totals counts as a failure.
conclude() {
  local name=$1 status=$2 took=$3 log=$logs/check-$1.log counts unlisted
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1 || true)
  unlisted=$(tests/listed "$name" "$log" || true)
  if [ -z "$counts" ] || { [ "$status" != 0 ] && [[ $counts == *" 0 failed"* ]]; }; then
    say "FAIL $name: ended with status $status and no totals of its own"
    cat "$logs/check-$name.end" 2>/dev/null || true
    counts='0 passed, 1 failed, 0 skipped'
  fi
  if [ -n "$unlisted" ]; then
    say "$unlisted"
    counts=$(awk -v more="$(wc -l <<<"$unlisted")" '{ $3 += more; print }' <<<"$counts")
  fi
  say "== $name: $counts ($took)"
  set -- ${counts//[!0-9 ]/}
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# The suite hosts leaves both cores idle for most of the time. The suite runs beside suites without its test programs and
# without measurements, and its lines come after the lines of these suites.
beside_hosts=' cmake images differential '
beside=
begin_beside() {
  say "== hosts: beside$beside_hosts"
  beside_since=$SECONDS
  set -m # a process group of its own
  (trap - EXIT; perform hosts) >"$logs/check-hosts.log" </dev/null &
  beside=$!
  set +m
}
end_beside() {
  local status=0
  say "== hosts"
  wait "$beside" || status=$?
  beside=
  without_totals <"$logs/check-hosts.log"
  conclude hosts "$status" "$((SECONDS - beside_since)) s; its CPU is in those beside it"
}
# end_group LEADER: kills the process group and waits. If process 1 reaps no orphans, zombies stay.
end_group() {
  local i
  kill -- "-$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
  for ((i = 0; i < 50; i++)); do kill -0 -- "-$1" 2>/dev/null || break; sleep 0.1; done
}

# Installs MPICH and Open MPI from PyPI: prterun, and the peers of the differential tests. Tests without peers are skipped.
prte=
peers() {
  case " ${suites[*]} " in *" mpi "* | *" hosts "* | *" differential "* | *" torch"*) ;; *) return 0 ;; esac
  say "peers: MPICH and Open MPI, from PyPI"
  tests/bench/setup-peers "$build/peers" >"$logs/peers.log" 2>&1 || { sed 's/^/    /' "$logs/peers.log"; return 0; }
  prte=${TERN_PRTE:-$build/peers/openmpi}
  unset TERN_PRTE # ranks would report an unknown parameter
  mkdir -p "$build/peers/bin"
  printf '#!/bin/sh\nexec "%s/bin/prterun" "$@"\n' "$prte" >"$build/peers/bin/prterun"
  chmod +x "$build/peers/bin/prterun"
  export PATH=$PATH:$build/peers/bin
}

check() {
  local suites=() word name passed=0 failed=0 skipped=0
  for word in "$@"; do
    case " ${usual_suites[*]} ${long_suites[*]} ${other_suites[*]} " in
      *" $word "*) suites+=("$word"); continue ;;
    esac
    [ "$word" = --full ] ||
      fail "check: \"$word\" is no suite; did you mean \"$(nearest "$word" --full "${usual_suites[@]}" "${long_suites[@]}" abi)\"?"
    full=--full
  done
  if [ ${#suites[@]} = 0 ]; then
    suites=("${usual_suites[@]}")
    [ -z "$full" ] || suites+=("${long_suites[@]}")
  fi
  install_packages "$build_packages$check_packages"
  case " ${suites[*]} " in *" clang "* | *" dist "* | *" fuzz "* | *" tidy "*) install_packages "$full_packages" ;; esac
  build
  peers
  for name in "${suites[@]}"; do
    if [ "$name" = hosts ] && [ -z "$beside" ] && [[ " ${suites[*]} " == *" hosts$beside_hosts"* ]]; then begin_beside; continue; fi
    [[ $beside_hosts == *" $name "* ]] || [ -z "$beside" ] || end_beside
    run_suite "$name"
  done
  [ -z "$beside" ] || end_beside
  say "$passed passed, $failed failed, $skipped skipped"
  said=yes
  [ "$failed" = 0 ]
}
