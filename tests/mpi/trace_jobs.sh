# SPDX-License-Identifier: Apache-2.0
# Traces and profiles of several processes, worlds, threads, sessions and short-lived communicators keep or count all calls.
# timeout: 120
# waits: yes
# hosts: no, the files of one mpirun
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
PATH=$PREFIX/bin:$PATH
"$MPICC" -g -O1 -o program "$TOP/tests/mpi/trace_jobs.c" -lpthread || exit 1

# file_has FILE EXPRESSION
file_has() { python3 "$TOP/tests/mpi/trace.py" "$1" "$2"; }
# page_has FILE EXPRESSION
page_has() {
  python3 -c 'import json, sys
page = json.load(open(sys.argv[1]))
def calls(function): return sum(s["calls"] for s in page["sites"] if s["function"] == function)
if not eval(sys.argv[2]): sys.exit(json.dumps(page, indent=1))' "$1" "$2"
}

# -- a program started by a recording program
started() {
  TERN_TRACE=starts TERN_PROFILE=starts.json ./program starts 2>errors || return
  ls starts.*
  [ "$(ls starts.0* | wc -l)" = 2 ] && [ "$(ls starts.json* | wc -l)" = 2 ]
}
check "a program started by a recording program writes further files" started
check "the first program's file is whole" file_has starts.0 'len(of(0, "MPI_Barrier")) == 20 and lost == 0'
check "the second program's file" file_has "$(ls starts.0.*)" 'len(of(0, "MPI_Barrier")) == 3'
check "the first program's profile" page_has starts.json 'calls("MPI_Barrier") == 20'
check "the second program's profile" page_has "$(ls starts.json.*)" 'calls("MPI_Barrier") == 3'
check "a remark names the file" grep -q 'trace starts.0 is in use.*starts.0.[0-9]' errors
check "a remark names the profile" grep -q 'profile starts.json is in use.*starts.json.[0-9]' errors
nested() {
  mpirun --trace=outer.trace -n 1 sh -c './program child && mpirun -n 2 ./program comms 4' 2>errors || return
  file_has outer.trace 'len(of(0, "MPI_Barrier")) == 3' && file_has "$(ls outer.trace.*)" 'len(of(1, "MPI_Barrier")) == 4'
}
check "an mpirun inside a traced job writes a further file" nested

# -- worlds
check "a spawned world with a profile" mpirun --profile=worlds.json -n 2 ./program spawns
check "the first world's profile" page_has worlds.json 'calls("MPI_Comm_spawn") == 2 and calls("MPI_Bcast") == 0 and len(page["ranks"]) == 2'
check "the second world's profile" page_has worlds.json.world.1 'calls("MPI_Bcast") == 10 and len(page["ranks"]) == 2'
check "a spawned world with a trace" mpirun --trace=worlds.trace -n 2 ./program spawns
check "both worlds are in the file" file_has worlds.trace 'len(of(function="MPI_Bcast")) == 10 and len(processes) == 4'

# -- short-lived communicators
check "a profile of 4000 communicators" mpirun --profile=comms.json -n 2 ./program comms 4000
check "has one row per place" page_has comms.json \
  'len([s for s in page["sites"] if s["function"] == "MPI_Barrier"]) == 1 and calls("MPI_Barrier") == 8000 and calls("other calls") == 0'
check "a trace of 40000 communicators" mpirun --trace=comms.trace --trace-buffer=16m -n 1 ./program comms 40000
check "knows every communicator, or the number of the unknown ones" file_has comms.trace \
  'lost == 0 and len(of(function="MPI_Barrier")) == 40000 and sum(r.comm not in by_rank[0].comms for r in of(function="MPI_Barrier")) == by_rank[0].lost_lines < 20000'

# -- collectives between two groups
check "an inter-communicator" mpirun --trace=inter.trace -n 4 ./program inter
tern_trace inter.trace --json >inter.json
# waits_at FUNCTION CAUSE RANK...: the ranks waited 0.1 s each, other ranks less than 20 ms in all
waits_at() {
  python3 - "$@" <<'PY'
import json
import sys
function, cause, *ranks = sys.argv[1:]
found = [one for one in json.load(open("inter.json"))["findings"] if one["function"] == function]
print(found)
seconds = sum(c["seconds"] for one in found for c in one["causes"] if c["rank"] == cause)
others = sum(c["seconds"] for one in found for c in one["causes"] if c["rank"] != cause)
sys.exit(not (0.095 * len(ranks) <= seconds <= 0.15 * len(ranks) and others < 0.02 and {one["rank"] for one in found} <= set(ranks)))
PY
}
check "the other group waits for the root" waits_at MPI_Bcast 1 2 3
check "the root waits for the last rank of the other group" waits_at MPI_Reduce 3 1
check "a symmetric call waits for the other group" waits_at MPI_Allreduce 0 2 3

# -- bytes
check "reductions" mpirun --trace=reductions.trace -n 2 ./program reductions
check "every rank's bytes of a reduction" file_has reductions.trace \
  '[r.bytes for rank in by_rank for r in of(rank, "MPI_Reduce")] == [32] * 4 and [r.bytes for r in of(function="MPI_Reduce_scatter_block")] == [16] * 4 and [r.bytes for r in of(function="MPI_Gather")] == [8, 8]'

# -- threads, sessions
check "first calls on a communicator by four threads" mpirun --trace=threads.trace --profile -n 1 ./program threads 50
check "all messages of the threads" file_has threads.trace \
  'len([r for r in of(function="MPI_Sendrecv") if r.kind == "send" and r.comm in by_rank[0].comms]) == 50 * 4 * 100 and matched()[0] == matched()[1]'
check "a session" mpirun --trace=sessions.trace -n 2 ./program sessions
check "the session's calls, and its end" file_has sessions.trace \
  'all(len(of(rank, "MPI_Barrier")) == 5 and p.end[2] == "finalised" for rank, p in by_rank.items()) and len({key(r) for r in of(function="MPI_Barrier")}) == 1'

# -- ends
aborted() { TERN_TRACE=aborts ./program aborts; [ $? = 5 ]; }
check "an aborted rank without mpirun" aborted
check "leaves all records, and the open call" file_has aborts.0 \
  'len(of(0, "MPI_Barrier")) == 10 and (of(0)[-1].function, of(0)[-1].flags) == ("MPI_Abort", OPEN) and by_rank[0].end[2] == "aborted"'
killed() {
  mpirun --trace=killed.trace -n 2 ./program waits >out &
  local mpirun=$!
  for _ in $(seq 100); do [ "$(grep -c waits out)" = 2 ] && break; sleep 0.05; done
  sleep 0.1
  kill -9 $mpirun
  wait $mpirun
  [ $? = 137 ]
}
check "a killed mpirun" killed
check "leaves a file with the drained records" file_has killed.trace 'len(of(function="MPI_Barrier")) == 20 and len(by_rank) == 2'
check "tern_trace reads the file" says '^run ' tern_trace killed.trace

# -- settings
check "TERN_TRACE=0 is no trace" sh -c 'TERN_TRACE=0 ./program child && ! ls 0*'
check "mpirun with TERN_TRACE=0" sh -c 'TERN_TRACE=0 mpirun -n 1 ./program child && ! ls 0*'
check "--trace-buffer without --trace" fails 2 'no effect without --trace=FILE' mpirun --trace-buffer=1m -n 1 ./program child
check "--profile with a blank before the file" fails 127 'no such program.*--profile=page.json' mpirun --profile page.json -n 1 ./program child
totals
