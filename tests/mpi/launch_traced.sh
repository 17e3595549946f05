# SPDX-License-Identifier: Apache-2.0
# A stopped tracer holds a rank against SIGKILL. mpirun reports the tracer and ends.
# timeout: 90
# waits: yes
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
tracer=
trap '[ -z "$tracer" ] || kill "$tracer" 2>/dev/null; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
# Attaches to a process and sleeps. Exit 2: attaching is forbidden.
cat >tracer.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char** argv) {
  if (argc < 2 || ptrace(PTRACE_ATTACH, atoi(argv[1]), 0, 0) != 0) return 2;
  puts("attached");
  fflush(stdout);
  sleep(75);
  return 0;
}
C
${CC:-cc} -o tracer tracer.c || exit 1

# until_there FILE: waits up to ten seconds for content.
until_there() {
  for _ in $(seq 100); do
    [ -s "$1" ] && return
    sleep 0.1
  done
  return 1
}

start=$SECONDS
timeout 60 "$MPIRUN" --timeout 2 -n 2 sh -c 'echo $$ >pid.$PMIX_RANK; exec sleep 100' >out 2>&1 </dev/null &
job=$!
until_there pid.1 || { echo "the ranks do not start: $(cat out)"; exit 1; }
./tracer "$(cat pid.1)" >attached &
tracer=$!
if ! until_there attached; then
  wait "$job"
  tracer=
  echo "a process may not trace another one here"
  exit 77
fi
wait "$job"
code=$?
used=$((SECONDS - start))
held() { cat out; grep -q "rank 1 .*pid $(cat pid.1).* does not end.* traced by process $tracer (tracer)" out; }
quick() { echo "mpirun took $used s"; [ "$used" -lt 20 ]; }
check "mpirun ends in seconds" quick
check "exit code of --timeout" test "$code" = 124
check "the report names the rank and its tracer" held
check "the other rank has ended" sh -c "! kill -0 $(cat pid.0) 2>/dev/null"
totals
