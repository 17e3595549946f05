# SPDX-License-Identifier: Apache-2.0
# Selection of forests by the graph of TERN_TOPOLOGY, with the reason; the folder of forests
# (TERN_PLAN_CACHE): kept, taken, damaged, foreign, and written by two jobs at once.
# timeout: 240
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >sums.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int wrong;
static void sums(MPI_Comm comm, int size, int rank, int count) {
  int* ints = malloc(sizeof(int) * count);
  float* floats = malloc(sizeof(float) * count);
  int* all = malloc(sizeof(int) * count * size);
  for (int i = 0; i < count; ++i) ints[i] = rank + i % 97, floats[i] = (float)(rank + i % 97);
  MPI_Allgather(ints, count, MPI_INT, all, count, MPI_INT, comm);
  for (int i = 0; i < count * size; ++i) wrong += all[i] != i / count + i % count % 97;
  MPI_Allreduce(MPI_IN_PLACE, ints, count, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, floats, count, MPI_FLOAT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) {
    const int want = size * (size - 1) / 2 + size * (i % 97);
    wrong += ints[i] != want || floats[i] != (float)want;
  }
  free(ints), free(floats), free(all);
}
int main(int argc, char** argv) {
  int rank, size;
  const int count = argc > 1 ? atoi(argv[1]) : 500000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sums(MPI_COMM_WORLD, size, rank, count);
  if (argc > 2) {  // a communicator with the hint argv[2]
    MPI_Info info;
    MPI_Comm hinted;
    MPI_Info_create(&info);
    MPI_Info_set(info, argv[2], "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted);
    MPI_Comm_set_name(hinted, "hinted");
    sums(hinted, size, rank, count);
    MPI_Comm_free(&hinted);
    MPI_Info_free(&info);
  }
  MPI_Finalize();
  if (wrong) printf("rank %d: %d wrong\n", rank, wrong);
  return wrong != 0;
}
C
"$MPICC" -O1 -o sums sums.c || exit 1
# Two directions of a ring; the rows of other names cross links in one direction, or twice.
printf 'gpu a b c d\nlink a b 25 3\nlink b c 25 3\nlink c d 25 3\nlink d a 25 3\n' >ring
printf 'gpu a b c d\nlink a b 50 3\nlink a c 50 3\nlink a d 50 3\nlink b c 50 3\nlink b d 50 3\nlink c d 50 3\n' >full

# Levels of one part: as between hosts, blocking calls use messages.
run() { # run GRAPH ARGUMENTS...
  timeout 60 "$MPIRUN" -n 4 -x TERN_EXPLAIN=1 -x TERN_COLL_TUNE=off -x TERN_COLL_LEVELS=2,2 -x TERN_TOPOLOGY="$1" \
    ${settings:+-x $settings} -x TERN_PLAN_CACHE="${cache:-off}" ./sums "${@:2}" 2>&1
}
said() { # said PATTERN GRAPH ARGUMENTS...
  local text status=0
  text=$(run "${@:2}") || status=$?
  printf '%s\n' "$text" | grep -v ' by sm '
  [ "$status" = 0 ] && grep -q -E -e "$1" <<<"$text"
}
unsaid() { # unsaid PATTERN GRAPH ARGUMENTS...
  local text status=0
  text=$(run "${@:2}") || status=$?
  printf '%s\n' "$text" | grep -v ' by sm '
  [ "$status" = 0 ] && ! grep -q -E -e "$1" <<<"$text"
}
gain='by the graph of TERN_TOPOLOGY.*; on the graph [0-9.]* us, other rows at least [0-9.]* us \([a-z_]*\)'
check "an allgather takes the forest" said "allgather of .*: forest .*$gain" ring
large=3000000
check "a sum of integers takes the forest" said "allreduce of .*: forest .*$gain" ring $large
check "a sum of floats keeps its order" said "allreduce of .*no forest: another order of operands .* tern_any_order" ring $large
check "a sum of floats with the hint takes the forest" said "allreduce from [0-9]* MiB on, forest, 2 times on hinted" ring $large tern_any_order
check "small data takes no forest" said "allgather of .*no forest: no gain" ring 2
check "small data takes no forest at all" unsaid ": forest" ring 2
check "a graph without a gain" unsaid ": forest" full
settings=TERN_FOREST=off check "TERN_FOREST=off" unsaid ": forest" ring
settings=TERN_FOREST=off check "TERN_FOREST=off is said" said "no forest: TERN_FOREST is off" ring
settings=TERN_COLL=allgather=ring check "a named row comes first" unsaid "allgather of .*: forest" ring
check "without a graph" unsaid "forest" ""
check "other values of TERN_FOREST" says 'TERN_FOREST is "on", but it must be one of off, auto' \
  sh -c "'$MPIRUN' -n 1 -x TERN_FOREST=on ./sums 2 2>&1"

# The folder.
cache=$work/plans
taken="trees of earlier jobs for [0-9]* collectives of the graph ring: $cache/forests-"
check "a first job finds no file" unsaid "earlier jobs" ring
file=$(ls "$cache"/* 2>/dev/null)
check "the job keeps a file for its user" [ "$(stat -c %a-%F "$file")" = "600-regular file" ]
check "a second job takes the file" said "$taken" ring
check "another graph has another file" unsaid "earlier jobs" full
cp "$file" whole
for cut in 0 10 100 -1; do
  head -c "$cut" whole >"$file"
  check "a file of $cut bytes is not taken" unsaid "earlier jobs" ring
  check "the file of $cut bytes is replaced" cmp whole "$file"
done
sed 's/^0 1 -1 /0 1 1 /' whole >"$file"
check "a changed file is not taken" unsaid "earlier jobs" ring
cp whole "$file" && chmod 620 "$file"
check "a file that others may write is not taken" unsaid "earlier jobs" ring
rm "$file" && mkfifo "$file"
check "a pipe is not taken" unsaid "earlier jobs" ring
rm -f "$file" && ln -s "$work/whole" "$file"
check "a link is not taken" unsaid "earlier jobs" ring
rm -f "$file"
both() {
  run ring >one.out & local one=$!
  run ring >two.out & local two=$!
  wait $one && wait $two && cmp whole "$file" && [ "$(ls "$cache" | grep -c "$(basename "$file")")" = 1 ]
}
check "two jobs at once" both
# Only rank 0 reads: the folders of other ranks hold other files.
mkdir other && sed 's/^forest/tree/' whole >"other/$(basename "$file")"
apart() {
  timeout 60 "$MPIRUN" -genv TERN_TOPOLOGY ring -genv TERN_EXPLAIN 1 -genv TERN_COLL_LEVELS 2,2 \
    -n 1 env TERN_PLAN_CACHE="$cache" ./sums : -n 3 env TERN_PLAN_CACHE="$work/other" ./sums 2>&1 | tee out
  grep -q "$taken" out
}
check "ranks with different folders" apart
cache=/proc/nowhere check "a folder that cannot be made" said ": forest" ring
cache=off
check "off keeps nothing" eval 'run ring >out && grep ": forest" out && [ ! -e "$HOME/.cache/tern/plans/$(basename "$file")" ]'
totals
