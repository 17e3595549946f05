# SPDX-License-Identifier: Apache-2.0
# A program with a wait of each kind, 100 ms each: the trace of mpirun, read by tern_trace, names rank, line and seconds.
# timeout: 60
# waits: yes
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
PATH=$PREFIX/bin:$PATH
mpicc -g -O1 "$TOP/tests/trace/waits.c" -o waits || exit 1

# finding WAIT FUNCTION RANKS CAUSES: at least 100 ms for each rank, less 5 %; at most the time that the ranks measured, and
# 5 %. A busy machine waits longer.
finding() {
  python3 - "$@" <<'END'
import json
import sys
wait, function, ranks, causes = sys.argv[1:]
found = [one for one in json.load(open("report.json"))["findings"]
         if one["wait"] == wait and one["function"] == function]
print(found)
measured = [float(line.split()[1]) for line in open("measured") if line.split()[0] == wait]
print(measured)
caused = sum(cause["seconds"] for one in found for cause in one["causes"] if cause["rank"] in causes)
good = len(measured) == len(ranks) and 0.095 * len(ranks) <= caused <= 1.05 * sum(measured) and \
    all(one["rank"] in ranks and "waits.c:" in one["site"] for one in found)
sys.exit(0 if good else 1)
END
}

check "a traced run" eval 'mpirun -n 4 --trace=run.trace ./waits >measured'
check "a report" eval 'tern_trace run.trace --json >report.json'
check "a wait at a fence for rank 2" finding fence MPI_Win_fence 013 2
check "a lock held by rank 0" finding lock MPI_Win_lock 3 0
check "a late sender" finding late_sender MPI_Recv 0 1
check "a collective waits for rank 1" finding collective MPI_Allreduce 023 1
check "a nonblocking collective waits for rank 3 outside MPI" finding progress MPI_Wait 012 3
check "early finish before rank 0" finding early_finish MPI_Finalize 123 0
check "the critical path is computation" eval "python3 -c '
import json
path = json.load(open(\"report.json\"))[\"critical_path\"]
assert path[\"computation\"] > 0.5, path'"
check "Chrome's events" eval 'tern_trace run.trace --chrome=run.json && python3 "$TOP/tests/trace/arrows.py" run.json 2'
totals
