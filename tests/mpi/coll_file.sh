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
refused "a missing name" 'table:1: file needs a name' 'allreduce 4 any file'
totals
