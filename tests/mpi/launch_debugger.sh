# SPDX-License-Identifier: Apache-2.0
# mpirun under a debugger: the MPIR table of a running job, and a job started by gdb.
# timeout: 240
# waits: yes
. "$TOP/tests/verdicts.sh"
if ! command -v gdb >/dev/null; then
  echo "no gdb here"
  exit 77
fi
if ! gdb -nx -batch -ex run -ex quit --args true 2>&1 | grep -q 'exited normally'; then
  echo "gdb may not trace here"
  exit 77
fi
work=$(mktemp -d)
job=
trap 'rm -rf "$work" "$log"; [ -z "$job" ] || kill "$job" 2>/dev/null' EXIT
cd "$work" || exit 1
mkdir folder
cp "$(command -v sleep)" folder/napper

"$MPIRUN" -n 2 sh -c 'echo $$ >pid.$PMIX_RANK; exec sleep 60' : -wdir folder -n 1 ./napper 60 &
job=$!
for ((i = 0; i < 300; i++)); do
  [ -s pid.0 ] && [ -s pid.1 ] && break
  sleep 0.05
done
gdb -nx -batch -p "$job" -ex 'print MPIR_proctable_size' -ex 'print MPIR_debug_state' \
  -ex 'print MPIR_proctable[0]' -ex 'print MPIR_proctable[1]' -ex 'print MPIR_proctable[2]' >attached 2>gdb.err
cat gdb.err >>attached
entry() { # entry RANK PATTERN
  grep -E "^[$]$(($1 + 3)) = " attached | grep -qE "$2" || { cat attached; return 1; }
}
check "gdb attaches and counts three ranks" grep -q '^$1 = 3$' attached
check "the state is MPIR_DEBUG_SPAWNED" grep -q '^$2 = 1$' attached
check "pid of rank 0" entry 0 "pid = $(cat pid.0)\b"
check "pid of rank 1" entry 1 "pid = $(cat pid.1)\b"
check "host" entry 0 "host_name = 0x[0-9a-f]+ \"$(uname -n)\""
check "program of the PATH" entry 1 'executable_name = 0x[0-9a-f]+ "/.*sh"'
check "program of a folder" entry 2 "executable_name = 0x[0-9a-f]+ \"$(realpath folder)/napper\""
check "the pid belongs to the program" sh -c \
  "grep -q napper /proc/\$(sed -n 's/^\$5 = .*pid = \([0-9]*\).*/\1/p' attached)/cmdline"
kill "$job"
wait "$job"
check "the job ends normally" test $? = 143
job=

# The names remain in stripped programs.
if command -v nm >/dev/null; then
  for name in MPIR_proctable MPIR_proctable_size MPIR_being_debugged MPIR_debug_state MPIR_Breakpoint MPIR_i_am_starter; do
    check "$name is a dynamic symbol" sh -c "nm -D '$MPIRUN' | grep -qw $name"
  done
else
  skip "dynamic symbols" "no nm"
fi

# gdb starts a job, and stops when the table is complete, before any rank runs.
cat >script <<'END'
set breakpoint pending on
break main
run
set var MPIR_being_debugged = 1
delete
break MPIR_Breakpoint
continue
print MPIR_proctable_size
print MPIR_debug_state
python
for i in range(2):
    pid = int(gdb.parse_and_eval("MPIR_proctable[%d].pid" % i))
    state = [line for line in open("/proc/%d/status" % pid) if line.startswith("State")][0].split()[1]
    print("rank %d is %s" % (i, state))
end
delete
continue
END
timeout 60 gdb -nx -batch -x script --args "$MPIRUN" -n 2 --output ranks sh -c 'echo begun' >started 2>&1
check "gdb stops in MPIR_Breakpoint" grep -q 'Breakpoint .*MPIR_Breakpoint' started
check "two ranks, spawned" sh -c "grep -q '^\$1 = 2$' started && grep -q '^\$2 = 1$' started"
if grep -q 'not supported\|Python scripting' started; then
  skip "ranks wait for the debugger" "gdb without Python"
else
  check "ranks wait for the debugger" sh -c "cat started; grep -qi '^rank 0 is t' started && grep -qi '^rank 1 is t' started"
fi
check "ranks continue after the stop" sh -c "cat started; grep -q 'exited normally' started && cat ranks/rank.?/stdout | grep -c begun | grep -qx 2"

# A rank under gdb, and gdb on a rank: gdb opens each loaded file by name.
cat >mapped.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int* data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && argc > 1) getchar();
  MPI_Finalize();
  puts("ended");
  return 0;
}
END
check "a program compiles" "$MPICC" -g mapped.c -o mapped
timeout -k 5 60 "$MPIRUN" -n 1 gdb -nx -batch -ex run --args ./mapped : -n 1 ./mapped >under 2>&1
check "a rank ends under gdb" sh -c "cat under; grep -q 'exited normally' under && [ \$(grep -c ended under) = 2 ]"
mkfifo keys
"$MPIRUN" -n 2 ./mapped wait <keys >ended 2>&1 &
job=$!
exec 8>keys
for ((i = 0; i < 100; i++)); do
  pid=$(pgrep -P "$job" -x mapped | head -n 1)
  [ -n "$pid" ] && grep -q '^State:.S' "/proc/$pid/status" && [ "$i" -gt 20 ] && break
  sleep 0.1
done
timeout -k 5 60 gdb -nx -batch -p "$pid" -ex bt >attached 2>&1
check "gdb attaches to a rank" sh -c "cat attached; grep -q ' main (' attached"
echo >&8
exec 8>&-
wait "$job"
check "the rank continues" sh -c "cat ended; [ \$(grep -c ended ended) = 2 ]"
job=
totals
