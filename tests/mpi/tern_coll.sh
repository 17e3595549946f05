# SPDX-License-Identifier: Apache-2.0
# tern_coll lists, proves and draws schedules. Errors name the valid words.
# timeout: 180
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
PATH=$PREFIX/bin:$PATH


check "the list has costs and sources" says '^allreduce  *ring  *2 (p - 1); 2 n  *commutative.*2009' tern_coll list
check "the list of one collective has no other collective" eval '! tern_coll list bcast | grep -q ^reduce'
check "all algorithms are proved to 12 ranks" says ' shapes, 0 wrong$' tern_coll verify --ranks=1..12
check "one algorithm on many ranks" says '^proved  *bcast double_tree: 1 shapes of 4096' tern_coll verify bcast double_tree --ranks=4096 --root=0
check "hosts described by --levels" says '^proved  *allreduce two_level: 1 shapes' tern_coll verify allreduce two_level --ranks=24 --levels=8,2
check "a machine described by --levels" says '^proved  *allreduce two_level: 1 shapes' tern_coll verify allreduce two_level --ranks=32 '--levels=pack:2 l3:2(size=8M) core:4'
check "levels unknown without ranks" fails 2 'bindings are known only at run time' tern_coll verify bcast two_level --levels=package
check "two groups" says '^proved  *reduce_scatter between_groups: 36 shapes of 1 to 9' tern_coll verify reduce_scatter between_groups --ranks=1..9
check "a named neighborhood" says '^proved  *neighbor_alltoall linear: 8 shapes of 1 to 8' tern_coll verify neighbor_alltoall --ranks=1..8 --neighbors=torus
check "lowered schedules are proved, in one and several groups of GPUs with peer access" says ' shapes, 0 wrong$' tern_coll verify --engine=stream --ranks=1..12
check "an option's value may be the next word" says '^proved  *allreduce ring: 12 shapes of 4 to 6' \
  tern_coll verify allreduce ring --engine stream --ranks 4..6
check "an algorithm without a lowered schedule" says '^not lowered' tern_coll verify neighbor_alltoall --engine=stream
check "a wrong engine lists the valid engines" fails 2 'host .messages. and stream' tern_coll verify --engine=stram
check "an algorithm for none of the numbers of ranks" says '^serves none' tern_coll verify allgather recursive_doubling --ranks=5..7
tern_coll draw allreduce ring --ranks=5 --output=ring.svg
check "a picture is XML with every message" python3 -c "
import xml.etree.ElementTree as tree
lines = [e for e in tree.parse('ring.svg').iter('{http://www.w3.org/2000/svg}line') if len(e)]
assert len(lines) == 2 * 4 * 5, len(lines)"
tern_coll draw allreduce ring --ranks=4 --engine=stream --output=lowered.svg
check "a lowered schedule has puts, reductions and credits" python3 -c "
import xml.etree.ElementTree as tree
words = [e[0].text for e in tree.parse('lowered.svg').iter('{http://www.w3.org/2000/svg}line') if len(e)]
count = lambda what: sum(what in word for word in words)
assert (count('put'), count('reduce'), count('credit'), len(words)) == (4 * 4, 2 * 4, 4, 7 * 4), words"
check "a picture of every algorithm" eval 'tern_coll list | tail -n +2 | while read -r what name rest; do
  case $name in flat* | file) continue ;; esac  # no schedule
  tern_coll draw "$what" "$name" --ranks=8 --levels=4 --topology=dgx-h100 >picture.svg && python3 -c "
import xml.etree.ElementTree as tree; tree.parse(\"picture.svg\")" || exit 1; done'
check "a simulation prints time, bandwidth and the busiest link" says '^busiest  gpu0 -> nvswitch: 9[0-9].*% of 370.8 GB/s' \
  tern_coll simulate allreduce two_shot --bytes=256m --topology=dgx-h100 --engine=stream
check "a topology with a network has hosts" says '^time ' tern_coll simulate allreduce sliced --bytes 1m --topology 2x8-rail
printf 'gpu a b c\nlink a b 10 2\nlink b c 5 2\n' >line
check "the bound of a machine" says '^busbw bound 5.00 GB/s$' tern_coll bound --topology=line
check "the bound names its cut" says '^cut   2 GPUs without c, 1 link of 5 GB/s$' tern_coll bound allgather --topology=line
check "the bound of an allreduce names its phases" says '^busbw bound 5.00 GB/s .of reduce_scatter and allgather.$' \
  tern_coll bound allreduce --topology=line
check "trees at the bound, away from the root" says '^  a 1/1: a>b b>c$' tern_coll forest bcast --topology=line
check "trees to the root" says '^  c 1/1: a>b b>c$' tern_coll forest reduce --topology=line --root=2
check "trees are proved" says '^proved  *allreduce forest: 1 shapes of 3 to 3 ranks' tern_coll verify allreduce forest --topology=line
check "trees are proved as puts, too" says '^proved  *allgather forest: 4 shapes of 8 to 8 ranks' \
  tern_coll verify allgather forest --topology=dgx-h100 --engine=stream
check "trees without a machine" says '^no topology  *bcast forest' tern_coll verify bcast forest
check "trees are simulated near the bound" says '^busbw  *5.0 GB/s' tern_coll simulate bcast forest --bytes=64m --topology=line
check "the list names the need of a machine" says '^allreduce  *forest .*a plan' tern_coll list allreduce
check "a collective without a bound lists those with one" fails 2 'bcast, reduce, allgather' tern_coll bound alltoall --topology=line
check "a root without a GPU" fails 2 'root=3, but line has 3 GPUs' tern_coll forest bcast --topology=line --root=3
check "a bound without a machine" fails 2 'bound needs --topology' tern_coll bound
printf 'gpu a b\nlink a b 10 2\n' >machine
check "a simulation includes modelled driver calls" says '^driver   modelled: [1-9][0-9]* calls of a rank, [0-9]* us .*a call 2.5 us' \
  tern_coll simulate allreduce ring --bytes=64m --topology=dgx-h100 --engine=stream
check "a smaller scratch takes more passes" says 'in 6[0-9][0-9] passes of a scratch of 8 MiB' \
  env TERN_GPU_SCRATCH=8M tern_coll simulate allreduce ring --bytes=64m --topology=dgx-h100 --engine=stream
check "a file describes a machine" says '^time  *102.0 us' tern_coll simulate bcast binomial --bytes=1000000 --topology=machine --chunk=0
printf 'gpu a b\nlink a b fast 2\n' >machine
check "an error in a file has line and cause" fails 2 'machine:2: bandwidth in GB/s must be a number' tern_coll simulate bcast binomial --bytes=1 --topology=machine
check "an unknown machine lists the known machines" fails 2 'dgx-h100, pcie-4, 2x8-rail' tern_coll simulate bcast binomial --bytes=1 --topology=dgx
check "more ranks than GPUs" fails 2 '5 ranks, but pcie-4 has 4 GPUs' tern_coll simulate bcast binomial --bytes=1 --topology=pcie-4 --ranks=5
cat > calls << 'END'
# tern_trace workload 1
allreduce 8 16 0 - 12.5
bcast 1000000 16 0 3 1
allreduce 8 16 0 - 2.5
neighbor_alltoall 8 16 0 - 0
END
check "a machine is generated" says '^time ' tern_coll simulate allreduce ring --bytes=1m --machine=fat-tree:4
check "131,072 ranks are simulated" says 'recursive_doubling, 131072 ranks' \
  tern_coll simulate allreduce recursive_doubling --bytes=1m --machine=rails:16384,8,32,32
check "a wrong machine is said" fails 2 'K is 3; K must be even' tern_coll simulate bcast binomial --bytes=1 --machine=fat-tree:3
check "a machine or a topology" fails 2 'not both' tern_coll simulate bcast binomial --bytes=1 --machine=fat-tree:4 --topology=pcie-4
check "a workload has computation" says '^computation *16.0 us' tern_coll simulate --workload=calls --machine=fat-tree:4
check "calls of a workload are counted" says '2  allreduce  ' tern_coll simulate --workload=calls --machine=fat-tree:4
check "calls without a model are counted" says '^1 calls are not modelled' tern_coll simulate --workload=calls --machine=fat-tree:4
check "a search writes a table" says '^allreduce 16 8 ' tern_coll search --workload=calls --machine=fat-tree:4
check "a workload of more ranks" fails 2 'the workload has 16 ranks, but the machine has 2 GPUs' tern_coll search --workload=calls --machine=torus:2
check "a search without calls" fails 2 'workload=FILE' tern_coll search --machine=torus:2
check "a missing workload" fails 2 'cannot be read' tern_coll search --workload=none --machine=torus:2
cat > groups << 'END'
group 0 stride 4 of 16
allreduce 1000000 4 0 - 2
END
check "a placement is no slower" says '^# communication of a step: .* us with ranks in order, .* placed' \
  tern_coll search --workload=groups --machine=rails:4,4,4,0 --place=hosts
check "a placement is a file of hosts" says '^host0 slots=' cat hosts
check "mpirun reads this file" eval 'sed "s/host[0-9]*/$(hostname)/" hosts >here; "$MPIRUN" -n 16 --hostfile here --dry-run true'
cat > model << 'END'
memory 1g
flops 1t
efficiency 0.5
batch 16
layer block*4 parameters=10m activations=1m output=1m flops=100m tensor=4
END
check "splits of a model, the quickest first" says '^ *[0-9.]*  *[0-9]*  *[0-9]* .* [0-9.]*  [a-z]' tern_coll search --model=model --machine=torus:4
check "a model that does not fit" fails 2 'the least needs about .* GB' eval 'sed "s/1g/1m/" model >small; tern_coll search --model=small --machine=torus:4'
check "an error in a model has line and cause" fails 2 'model:6: "flop=1" is not a property' eval 'sed "s/flops=100m/flop=1/; 1i#" model >bad_model; cp bad_model model; tern_coll search --model=model --machine=torus:4'
check "a model or a workload" fails 2 'or --workload=FILE' tern_coll search --model=model --workload=groups --machine=torus:4
check "a large schedule is proved by classes" says '^  barrier dissemination.* (all) are renamed\|^proved  *barrier dissemination' tern_coll verify barrier dissemination --ranks=131071
check "a ring of many ranks is proved by classes" says 'by classes: [12] ranks* ran for all' tern_coll verify allreduce ring --ranks=2053
check "a workload without calls" fails 2 'the workload has no calls' eval 'echo "# x" >wnone; tern_coll search --workload=wnone --machine=rails:1,8,1,0 --place=hosts'
check "a trace of Chakra without ranks" fails 2 'give the first' tern_coll import trace.et
check "a trace that is no trace" fails 2 'byte 0: ' eval 'echo no trace >t.0.et; tern_coll import t.0.et'
printf '# Measured by tern_coll tune on 2 ranks, without levels; rank 0 on a.\n# allreduce 8: ring 2.0 us, tree 3.0 us\n' >times
check "the model is compared with times" says '^all, the figures of tune  *2 ' tern_coll validate times
check "a file without times" fails 2 'give a file of tern_coll tune' tern_coll validate groups
check "no size" fails 2 'bytes=N' tern_coll simulate bcast binomial --topology=pcie-4
check "a wrong collective lists the valid names" fails 2 'barrier, bcast.*did you mean alltoall?' tern_coll list alltoal
check "a wrong algorithm lists the valid names" fails 2 'knomial, two_level.*did you mean binomial?' tern_coll draw bcast binomal
check "the error names an algorithm's requirement" fails 2 'levels=4 makes hosts' tern_coll draw allreduce two_level
check "wrong neighbors list the valid words" fails 2 'ring, grid.*did you mean torus?' tern_coll draw neighbor_alltoall linear --neighbors=toruss
check "a wrong option lists the valid options" fails 2 'ranks=N or N..M' tern_coll verify --rank=3
check "a wrong range" fails 2 'no range' tern_coll verify --ranks=5..2

# The table: measured, loaded, refused.
cat >reduce.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  int in = 1, out = 0;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o reduce reduce.c || exit 1
explained() { "$MPIRUN" -n 4 -x TERN_EXPLAIN=1 "$@" ./reduce 2>&1; }
check "tune measures and writes a table" "$MPIRUN" -n 2 tern_coll tune bcast --output=tuned
check "the table has lines and times" grep -q '^# bcast 8: .*binomial [0-9.]* us' tuned
check "the library accepts the table" "$MPIRUN" -n 2 -x TERN_COLL_TABLE="$work/tuned" ./reduce
check "tune without mpirun prints the command" fails 2 'mpirun -n 4 tern_coll tune' tern_coll tune bcast
echo 'allreduce any ..1k tree' >table
check "the choice, its reason, the prediction and all sizes" says \
  'allreduce of 4 bytes on 4 ranks: tree .* by .*table, line 1, predicted [0-9.]* us; all sizes: to 1 KiB tree, then' \
  explained -x TERN_COLL_TABLE="$work/table"
check "the measured time at the end" says \
  'allreduce from 4 B on, tree, 5 times on MPI_COMM_WORLD: predicted [0-9.]* us, measured [0-9.]* us' \
  explained -x TERN_COLL_TABLE="$work/table"
check "a parameter overrides the table" says 'ranks: ring .* by TERN_COLL' \
  explained -x TERN_COLL_TABLE="$work/table" -x TERN_COLL=allreduce=ring
check "levels with bound ranks" says 'on MPI_COMM_WORLD use levels: 2 hosts of 2 ranks' explained -x TERN_COLL_LEVELS=package -x HWLOC_SYNTHETIC='pack:2 core:2 pu:1'
check "levels without bound ranks" says 'levels by L3, but rank 0 is not bound to a single L3' explained -x TERN_COLL_LEVELS=l3 -x HWLOC_SYNTHETIC='pack:2 core:2 pu:1'
check "wrong levels end MPI_Init" sh -c "
  ! '$MPIRUN' -n 2 -x TERN_COLL_LEVELS=packge ./reduce 2>err && grep 'TERN_COLL_LEVELS is .packge.*package, numa, l3, core' err"
check "lines for hosts described by a parameter" says \
  "two_level .* by Tern's own table.*; all sizes: to 256 KiB two_level, then sliced" explained -x TERN_COLL_LEVELS=2
printf 'allreduce any any tree\nallreduce 4 any rign\n' >bad
check "a bad line ends MPI_Init with its number" sh -c "
  ! '$MPIRUN' -n 2 -x TERN_COLL_TABLE='$work/bad' ./reduce 2>err && grep 'bad:2: allreduce has no algorithm \"rign\"' err"
check "a missing table ends MPI_Init" sh -c "
  ! '$MPIRUN' -n 2 -x TERN_COLL_TABLE=/nowhere/table ./reduce 2>err && grep 'TERN_COLL_TABLE is /nowhere/table, but the file cannot be read' err"
check "ranks with different parameters get an error" sh -c "
  ! '$MPIRUN' -n 1 -x TERN_COLL=allreduce=ring ./reduce : -n 1 ./reduce 2>err && grep 'differ in parameters' err"
totals
