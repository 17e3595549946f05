# SPDX-License-Identifier: Apache-2.0
# Faults under mpirun: failing ranks, signals, and no leftovers after any kill.
# timeout: 240
# transport: sm, over a network others may tell of the death before mpirun sees it
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
export TMPDIR=$work/tmp LAUNCH_MARK=launch-$$-$RANDOM
mkdir tmp

left() { # processes of this test's jobs
  grep -lsz "^LAUNCH_MARK=$LAUNCH_MARK$" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in
      mpirun | mpirun-guard | sleep | victim) echo "$pid" ;;
    esac
  done
}
gone_within() { # gone_within TENTHS
  local i
  for ((i = 0; i <= $1; i++)); do
    [ -n "$(left)" ] || { ! ls -d tmp/tern*; return; }
    sleep 0.1
  done
  echo "left: $(left | xargs -r ps -o pid,stat,args -p)"
  left | xargs -r kill -9
  return 1
}
fails_at_once() { fails "$@" && gone_within 20; } # fails, with no leftovers after two seconds
start_job() { # start_job N COMMAND...: in the background, until all N ranks run
  local n=$1 i
  shift
  rm -f up.*
  "$MPIRUN" -n "$n" sh -c 'echo $$ >up.$PMIX_RANK; exec "$@"' sh "$@" >out 2>err &
  job=$!
  for ((i = 0; i < 600; i++)); do
    [ "$(cat up.* 2>/dev/null | wc -l)" = "$n" ] && sleep 0.05 && return 0
    sleep 0.05
  done
  return 1
}
killed() { # killed SIGNAL WHOM CODE PATTERN: a job of three sleeping ranks
  local got
  start_job 3 "${victims[@]:-sleep}" 60 || return 1
  local pid=$job
  [ "$2" = mpirun ] || pid=$(cat "up.$2")
  kill "-$1" "$pid"
  wait "$job"
  got=$?
  printf 'exit %s: %s\n' "$got" "$(cat err)"
  [ "$got" = "$3" ] && { [ -z "$4" ] || grep -q -e "$4" err; } && gone_within 20
}
others='[ $PMIX_RANK = 1 ] || exec sleep 60;'

# Exit codes
check "success" fails_at_once 0 '' "$MPIRUN" -n 3 true
check "the exit code of the failed rank" fails_at_once 7 'rank 1 on host .* ended with exit code 7' \
  "$MPIRUN" -n 3 sh -c "$others exit 7"
check "a signal is 128 + its number" fails_at_once 139 'rank 1 on host .* killed by signal 11 (Segmentation fault' \
  "$MPIRUN" -n 3 sh -c "$others kill -SEGV \$\$"
check "the report names the pid and the others" fails_at_once 137 '(pid [0-9]*, sh).*The other 2 ranks' \
  "$MPIRUN" -n 3 sh -c "$others kill -KILL \$\$"
check "one report per job" sh -c \
  "[ \$('$MPIRUN' -n 4 sh -c '$others exit 7' 2>&1 | grep -c 'mpirun: rank') = 1 ]"
check "the rank's output precedes the report" sh -c \
  "'$MPIRUN' -n 2 sh -c '[ \$PMIX_RANK = 0 ] && sleep 60; echo last words; exit 3' 2>&1 | head -n 1 | grep -q 'last words'"
check "ranks that ignore SIGTERM end, too" fails_at_once 3 'exit code 3' \
  "$MPIRUN" -n 2 sh -c '[ $PMIX_RANK = 0 ] && { sleep 0.2; exit 3; }; trap "" TERM; sleep 60; sleep 60'
check "--timeout" fails_at_once 124 'still ran after 0.3 seconds' "$MPIRUN" --timeout 0.3 -n 2 sleep 60
check "--timeout of a job that ends in time" fails_at_once 0 '' "$MPIRUN" --timeout 60 -n 2 true
check "leftover children of a rank are killed" fails_at_once 0 '' "$MPIRUN" -n 2 sh -c 'sleep 60 & exit 0'
check "a child in another session is killed" fails_at_once 0 '' "$MPIRUN" -n 2 setsid sh -c 'true'

# Kills
check "SIGKILL of a rank" killed KILL 1 137 'rank 1 .*signal 9 (Killed'
check "SIGTERM of a rank" killed TERM 2 143 'rank 2 .*signal 15'
check "Ctrl-C" killed INT mpirun 130 ''
check "SIGTERM of mpirun" killed TERM mpirun 143 ''
check "SIGHUP of mpirun" killed HUP mpirun 129 ''
check "kill -9 of mpirun" killed KILL mpirun 137 ''
victims=(sh -c 'sleep $0; true')
check "kill -9 of mpirun with scripts as ranks" killed KILL mpirun 137 ''
check "SIGKILL of a script as rank" killed KILL 0 137 'rank 0 .*signal 9'
victims=()
second_interrupt() {
  start_job 2 sh -c 'trap "" INT TERM; sleep 60; sleep 60' || return 1
  kill -INT "$job"
  sleep 0.2
  kill -INT "$job"
  wait "$job"
  [ $? = 130 ] && gone_within 5
}
check "a second Ctrl-C kills" second_interrupt
forwarded() {
  start_job 2 sh -c 'trap "echo caught; exit 0" USR1; while :; do sleep 0.05; done' || return 1
  kill -USR1 "$job"
  wait "$job" && [ "$(grep -c caught out)" = 2 ] && gone_within 5
}
check "SIGUSR1 is forwarded" forwarded
stopped() {
  start_job 2 sleep 60 || return 1
  kill -TSTP "$job"
  sleep 0.3
  grep -q 'State:.T' "/proc/$job/status" "/proc/$(cat up.0)/status" || return 1
  [ "$(grep -l 'State:.T' "/proc/$(cat up.0)/status" "/proc/$(cat up.1)/status" | wc -l)" = 2 ] || return 1
  kill -CONT "$job"
  sleep 0.3
  ! grep -q 'State:.T' "/proc/$(cat up.0)/status" && kill -INT "$job"
  wait "$job"
  gone_within 20
}
check "SIGTSTP stops, SIGCONT continues" stopped
guard_killed() {
  start_job 2 sleep 60 || return 1
  local guard
  guard=$(pgrep -P "$job" -x mpirun-guard)
  kill -9 "$guard" && sleep 0.2
  local next
  next=$(pgrep -P "$job" -x mpirun-guard)
  [ -n "$next" ] && [ "$next" != "$guard" ] || return 1
  kill -9 "$job"
  wait "$job"
  gone_within 20
}
check "kill -9 of the guard, then of mpirun" guard_killed
random_moments() {
  local i
  for ((i = 0; i < ${ROUNDS:-20}; i++)); do
    "$MPIRUN" -n 3 sh -c 'sleep 60 & sleep 60' >/dev/null 2>&1 &
    job=$!
    sleep "0.0$((RANDOM % 40 + 10))"
    kill -9 "$job" 2>/dev/null
    wait "$job"
    gone_within 20 || return 1
  done
} 2>/dev/null
check "kill -9 of mpirun at ${ROUNDS:-20} random moments" random_moments
totals
