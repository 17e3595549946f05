# SPDX-License-Identifier: Apache-2.0
# Plans of MSCCL files, named by lines of TERN_COLL_TABLE, on real processes: results against a
# serial reference, with counts around chunk sizes, in place, with derived types. Wrong files fail
# MPI_Init with line and cause.
# timeout: 300
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
"$MPICC" -O1 -I"$TOP/tests/mpi" -o rows -x c "$TOP/tests/mpi/coll_rows.inc" || exit 1
tern_coll=$PREFIX/bin/tern_coll

# Some rows with several parts, scratch, lanes and whole blocks.
for row in allreduce:ring allreduce:rabenseifner allreduce:double_tree allgather:linear allgather:bruck \
  alltoall:pairwise alltoall:bruck reduce_scatter:pairwise reduce_scatter:recursive_halving; do
  what=${row%:*} name=${row#*:}
  for n in 4 ${FULL:+2 3 5 8}; do
    "$tern_coll" export "$what" "$name" --ranks=$n --output="$what-$name-$n.xml" || exit 1
    echo "$what $n any file $what-$name-$n.xml" >table
    check "$what $name, written and read, on $n ranks" timeout 100 "$MPIRUN" -n $n -x TERN_COLL_TABLE="$work/table" ./rows $what=file
  done
done
check "the plan's file is named" sh -c "
  '$MPIRUN' -n 4 -x TERN_EXPLAIN=1 -x TERN_COLL_TABLE='$work/table' ./rows reduce_scatter=file 2>&1 | grep 'reduce_scatter.*: file'"
# A plan that copies through a mirror in slices of two parts, on blocks of any sizes.
cat >mirror.xml <<'XML'
<algo name="mirror" nchunksperloop="4" ngpus="2" coll="allgather" inplace="0">
<gpu id="0" i_chunks="2" o_chunks="4" s_chunks="2">
<tb id="0" send="1" recv="-1" chan="0">
<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="cpy" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="2" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb>
<tb id="1" send="-1" recv="1" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb>
<tb id="2" send="-1" recv="-1" chan="0">
<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="1" i_chunks="2" o_chunks="4" s_chunks="0">
<tb id="0" send="0" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb>
<tb id="1" send="-1" recv="0" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb>
<tb id="2" send="-1" recv="-1" chan="0">
<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu></algo>
XML
echo 'allgather 2 any file mirror.xml' >table
check "a mirror of blocks of several sizes" timeout 100 "$MPIRUN" -n 2 -x TERN_COLL_TABLE="$work/table" ./rows allgather=file
# A plan of MSCCL++: each GPU sums one half, and packets order the operations.
python3 - >pair.json <<'END'
import json
def near(buffer, at): return {"type": buffer, "index": at, "size": 1}
def far(at): return {"buffer_id": 0, "index": at, "size": 1}
def op(name, sources, destinations): return {"name": name, "channel_type": "memory", "src_buff": sources, "dst_buff": destinations}
def gpu(me):
    other = 1 - me
    ops = [op("ppkt", [near("i", other)], [far(0)]),
           op("respkt", [near("i", me), near("s", 0)], [near("i", me), far(1)]),
           op("upkt", [near("s", 1)], [near("i", other)])]
    refs = [{"access_channel_type": "memory", "remote_buffer_ids": [0]}]
    blocks = [{"id": i, "channels": [], "remote_buffer_refs": refs, "ops": [one]} for i, one in enumerate(ops)]
    return {"id": me, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 2, "threadblocks": blocks,
            "channels": [], "remote_buffers": [{"rank": other, "type": "s"}]}
json.dump({"name": "pair", "collective": "allreduce", "protocol": "LL", "inplace": True, "gpus": [gpu(0), gpu(1)]}, __import__("sys").stdout)
END
echo 'allreduce 2 any file pair.json' >table
check "a plan of MSCCL++" timeout 100 "$MPIRUN" -n 2 -x TERN_COLL_TABLE="$work/table" ./rows allreduce=file
check "it is followed" sh -c "
  '$MPIRUN' -n 2 -x TERN_EXPLAIN=1 -x TERN_COLL_TABLE='$work/table' ./rows allreduce=file 2>&1 | grep 'allreduce.*: file'"
echo "reduce_scatter 4 any file reduce_scatter-recursive_halving-4.xml" >table
check "other numbers of ranks use Tern's own rows" timeout 100 "$MPIRUN" -n 3 -x TERN_COLL_TABLE="$work/table" ./rows reduce_scatter=file

refused() { # NAME WORDS LINE...
  printf '%s\n' "${@:3}" >table
  check "$1" sh -c "! '$MPIRUN' -n 2 -x TERN_COLL_TABLE='$work/table' ./rows bcast=linear >out 2>&1 && grep -- '$2' out"
}
sed 's/dstoff="0"/dstoff="1"/' allreduce-ring-4.xml >wrong.xml
refused "a plan that is no allreduce" 'table:2: .*wrong.xml' '# a comment' 'allreduce 4 any file wrong.xml'
refused "a file that does not exist" 'table:1: .*none.xml cannot be read: No such file' 'allreduce 4 any file none.xml'
refused "a directory" 'table:1: .* cannot be read: Is a directory' 'allreduce 4 any file .'
refused "an endless file" 'table:1: /dev/zero has more than 64 MiB' 'allreduce 4 any file /dev/zero'
refused "a plan of another collective" 'table:1: .*allreduce-ring-4.xml has no allgather' 'allgather 4 any file allreduce-ring-4.xml'
sed 's/"upkt"/"gstore"/' pair.json >multicast.json
refused "a plan of MSCCL++ with multicast" 'table:1: .*multicast.json:1: the operation "gstore" is not read' 'allreduce 2 any file multicast.json'
refused "a missing name" 'table:1: file needs a name' 'allreduce 4 any file'

# Ranks in folders of their own read their own files, as hosts without a common file system do.
mkdir one two
for folder in one two; do
  "$tern_coll" export allreduce ring --ranks=2 --output=$folder/plan.xml || exit 1
  echo 'allreduce 2 any file plan.xml' >$folder/table
done
apart() { timeout 30 "$MPIRUN" -genv TERN_COLL_TABLE table -n 1 -wdir "$work/one" "$work/rows" allreduce=file : \
  -n 1 -wdir "$work/two" "$work/rows" allreduce=file; }
check "equal plans in two folders" apart
sed -i 's/name="[a-z_0-9]*"/name="other"/' two/plan.xml
check "another plan in the second folder" eval '! apart >out 2>&1 && grep "content of TERN_TOPOLOGY (here none) or TERN_COLL_TABLE (here table)" out'
echo 'allreduce 2 any ring' >two/table
check "another table in the second folder" eval '! apart >out 2>&1 && grep "content of TERN_TOPOLOGY (here none) or TERN_COLL_TABLE (here table)" out'
totals
