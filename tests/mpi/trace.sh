# SPDX-License-Identifier: Apache-2.0
# mpirun --trace: the records of each kind of call, killed ranks, full disks, pauses, a PMPI tool beside.
# timeout: 120
# waits: yes
# hosts: no, the files of one mpirun
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
"$MPICC" -g -O1 -o program "$TOP/tests/mpi/trace.c" || exit 1

# run NAME RANKS [ARGUMENT...]: writes NAME.trace.
run() {
  local name=$1 ranks=$2
  shift 2
  "$MPIRUN" --trace="$name.trace" -n "$ranks" ./program "$name" "$@"
}
# true_of NAME EXPRESSION
true_of() { python3 "$TOP/tests/mpi/trace.py" "$1.trace" "$2"; }

check "a late sender" sh -c '"$0" --trace=late_sender.trace -n 2 ./program late_sender >times' "$MPIRUN"
. ./times
check "the receive waited from its call to the late send" true_of late_sender \
  "[$before <= r.begin <= r.end <= $after and $sent <= r.end and $before < $sent for r in of(1, 'MPI_Recv')] == [True]"
check "its source, tag, bytes" true_of late_sender '[(r.peer, r.tag, r.bytes, r.number) for r in of(1, "MPI_Recv")] == [(0, 5, 4, 1)]'
check "the call path names function and caller" true_of late_sender \
  '"program" in by_rank[1].sites[of(1, "MPI_Recv")[0].site] and by_rank[1].sites[of(1, "MPI_Recv")[0].site].count(";") >= 1'
check "both ranks ended well" true_of late_sender 'all(p.end[1:] == (0, "finalised") for p in processes.values())'
check "the end counts the records" true_of late_sender \
  'all(p.end[0] == len(of(rank)) for rank, p in by_rank.items())'
check "the first record is MPI_Init, the last MPI_Finalize" true_of late_sender \
  'all((of(rank)[0].function, of(rank)[-1].function) == ("MPI_Init", "MPI_Finalize") for rank in by_rank)'
check "records of a thread end in order" true_of late_sender \
  'all(a.end <= b.end for rank in by_rank for a, b in zip(of(rank), of(rank)[1:]))'

check "messages" run messages 2
check "each receive has the send with its number" true_of messages 'matched()[0] == matched()[1] and len(matched()[0]) >= 11'
check "wildcards are marked" true_of messages 'sum(bool(r.flags & WILDCARD) for r in of(1, "MPI_Irecv")) == 1'
check "completions follow their wait" true_of messages \
  'all(r.function.startswith("MPI_Wait") for r in records if r.kind in ("send_done", "receive_done"))'
check "each started receive completes once" true_of messages \
  'all(sorted(r.request for r in of(rank, kind="receive_start")) == sorted(r.request for r in of(rank, kind="receive_done")) for rank in by_rank)'
check "persistent starts have numbers of their own" true_of messages \
  'all(len({r.request for r in of(rank, "MPI_Startall")}) == 4 for rank in by_rank)'
check "a large send waits for its receiver, a small one does not" true_of messages \
  '{bool(r.flags & RENDEZVOUS) for r in of(function="MPI_Isend") if r.bytes > 1000} == {True} and not any(r.flags & RENDEZVOUS for r in of(function="MPI_Send"))'
check "the cancelled receive" true_of messages 'all(sum(bool(r.flags & CANCELLED) for r in of(rank)) == 1 for rank in by_rank)'
check "a receive from no process" true_of messages 'of(0, "MPI_Recv")[-1].peer == -3'
check "send and receive of MPI_Sendrecv" true_of messages \
  '[(r.kind, r.flags & PART) for r in of(0, "MPI_Sendrecv")] == [("send", 0), ("receive", PART)]'

check "collectives" run collectives 4
check "the members agree on the numbers of their calls" true_of collectives \
  'all(len({tuple((key(r), r.number) for r in of(rank) if r.comm and r.function == f) for rank in by_rank}) == 1 for f in ("MPI_Barrier", "MPI_Bcast", "MPI_Comm_split", "MPI_Iallreduce"))'
check "root and bytes of MPI_Bcast" true_of collectives '{(r.peer, r.bytes) for r in of(function="MPI_Bcast")} == {(1, 32)}'
check "sub-communicators and their members" true_of collectives \
  'by_rank[3].comms[of(3, "MPI_Allgather")[0].comm][2:] == ["1,3", "-"] and key(of(3, "MPI_Allgather")[0]) == key(of(1, "MPI_Allgather")[0]) != key(of(0, "MPI_Allgather")[0])'
check "a nonblocking collective completes" true_of collectives \
  'all(of(rank, kind="collective_start")[0].request == of(rank, kind="collective_done")[0].request != 0 for rank in by_rank)'

check "loops of MPI_Test and MPI_Iprobe" sh -c '"$0" --trace=polls.trace -n 2 ./program polls >loops' "$MPIRUN"
while read -r function vain busy passed; do
  polls="of(1, '$function')"
  check "$function: few records" true_of polls "len($polls) < 2000"
  check "$function: all calls" true_of polls \
    "sum(r.number if r.flags & POLLS else 1 for r in $polls if r.kind != 'receive_done') == $vain + 1 > 1"
  check "$function: at most the time that passed" true_of polls "sum(r.seconds for r in $polls) <= 1e-9 * $passed"
  check "$function: the processor's time" true_of polls "sum(r.seconds for r in $polls) > 0.8e-9 * $busy"
done <loops
check "both loops" sh -c '[ "$(wc -l <loops)" = 2 ]'
check "the last poll finds the message" true_of polls \
  'of(1, "MPI_Test")[-1].kind == "receive_done" and not of(1, "MPI_Iprobe")[-1].flags & POLLS'

check "error handlers" run errors 2
check "the records of failed calls, also after a jump" true_of errors \
  'all([bool(r.flags & FAILED) for r in of(rank, "MPI_Send")] == [True, True] and of(rank)[-1].function == "MPI_Finalize" for rank in by_rank)'

check "regions and pauses" run regions 2
check "MPI_Pcontrol(0) pauses" true_of regions 'all(len(of(rank, "MPI_Barrier")) == 1 for rank in by_rank)'
check "labels around the second barrier" true_of regions \
  'all([r.kind for r in of(rank)][-4:-1] == ["region_begin", "collective", "region_end"] and by_rank[rank].labels[1] == "solve" for rank in by_rank)'

check "windows and files" run windows 2
check "the put's target and bytes" true_of windows 'all([(r.kind, r.peer, r.bytes) for r in of(rank, "MPI_Put")] == [("one_sided", 1 - rank, 4)] for rank in by_rank)'
check "fences" true_of windows 'all([r.kind for r in of(rank, "MPI_Win_fence")] == ["epoch"] * 2 for rank in by_rank)'
check "the written bytes of a file" true_of windows 'all([(r.kind, r.bytes) for r in of(rank, "MPI_File_write_at_all")] == [("file", 4)] for rank in by_rank)'

check "a full ring loses its oldest records and counts them" "$MPIRUN" --trace=many.trace --trace-buffer=4k -n 1 ./program many 200000
check "read and lost records are all" true_of many 'lost > 0 and len(records) + lost == 200002 == sum(by_rank[0].end[:2])'
check "many records, none lost" "$MPIRUN" --trace=most.trace --trace-buffer=64m -n 1 ./program many 200000
check "all there" true_of most 'lost == 0 and len(of(function="MPI_Barrier")) == 200000'

killed() {
  "$MPIRUN" --trace=killed.trace -n 2 ./program killed >pid 2>errors &
  local mpirun=$! pid
  for _ in $(seq 100); do pid=$(cat pid); [ -z "$pid" ] || break; sleep 0.05; done
  sleep 0.3
  kill -9 "$pid"
  wait "$mpirun"
  [ $? = 137 ]
}
check "a killed rank ends the job as without a trace" killed
check "the file names the signal" true_of killed 'by_rank[1].end[2] == "killed by signal 9"'
check "the file has the open receive" true_of killed \
  '[(r.function, r.flags) for r in of(1)][-1] == ("MPI_Recv", OPEN) and of(1)[-1].seconds > 0.25'

# The limit leaves room for mpirun's memory of 6.6 MiB.
full() { (ulimit -f 7168; "$MPIRUN" --trace=full.trace --trace-buffer=64k -n 1 ./program many 1000000 2>errors); }
check "a full disk leaves the job alone" full
check "no memory for records leaves the job alone" bash -c 'ulimit -f 2048; "$0" --trace=none.trace -n 1 ./program many 10 2>errors || { cat errors; exit 1; }' "$MPIRUN"
check "and says so" grep -q "the ranks are not recorded: " errors
check "a full disk, again" full
check "one remark" sh -c 'grep -c "cannot write the trace full.trace: File too large" errors | grep -qx 1'
check "the file is readable" true_of full 'len(records) > 50000'
check "a file that cannot be made ends the job before its start" fails 2 'cannot write the trace none/file: No such file' \
  "$MPIRUN" --trace=none/file -n 1 ./program

check "a rank alone writes its own file" env TERN_TRACE=alone ./program many 10
check "the file of a rank alone" python3 "$TOP/tests/mpi/trace.py" alone.0 'len(of(0, "MPI_Barrier")) == 10 and by_rank[0].end[2] == "finalised"'

cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int seen;
int MPI_Barrier(MPI_Comm comm) { ++seen; return PMPI_Barrier(comm); }
int MPI_Finalize(void) { printf("seen %d\n", seen); return PMPI_Finalize(); }
END
"$MPICC" -shared -fPIC -o tool.so tool.c || exit 1
check "a PMPI tool beside the trace" says 'seen 10' "$MPIRUN" --trace=tool.trace -x LD_PRELOAD="$work/tool.so" -n 1 ./program many 10
check "both saw all calls" true_of tool 'len(of(0, "MPI_Barrier")) == 10 and "tool.so" in by_rank[0].sites[of(0, "MPI_Barrier")[0].site]'
totals
