# SPDX-License-Identifier: Apache-2.0
# Measurements (TERN_COLL_TUNE) kept for later jobs (TERN_COLL_LEARNT). mpirun ignores an untrusted
# file with a remark, and no line changes the bits of a sum.
# timeout: 180
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
PATH=$PREFIX/bin:$PATH
export TERN_COLL_LEARNT=$work/cache/learnt TERN_COLL_TUNE=auto
cat >calls.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  static double in[1024], out[4096];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 1024; ++i) in[i] = 1.0 / (rank + 3) + i * 1e-7;
  for (int i = 0; i < atoi(argv[1]); ++i) {
    MPI_Allreduce(in, out, 1024, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  MPI_Allreduce(in, out, 1024, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  unsigned long long hash = 0;
  for (int i = 0; i < 8192; ++i) hash = hash * 31 + ((unsigned char*)out)[i];
  if (rank == 0) printf("bits %llx\n", hash);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o calls calls.c || exit 1
calls() { local ranks=$1 times=$2; shift 2; "$MPIRUN" --oversubscribe -n "$ranks" "$@" ./calls "$times" 2>&1; }
explained() { calls "$@" -x TERN_EXPLAIN=1; }

check "without measurements tern_coll shows no line" says 'nothing was measured' tern_coll show
check "a learning job" calls 3 600 -x TERN_COLL_TUNE=learn
check "the learning job writes lines with times" grep -Eq '^allgather 3 4097\.\.8192 [a-z_]+ one_host  # [0-9.]+ us, [0-9]+ rounds, any order$' cache/learnt
check "lines of sums keep the order" grep -Eq '^allreduce 3 4097\.\.8192 flat[a-z_]* one_host  # [0-9.]+ us, [0-9]+ rounds$|^allreduce 3 4097\.\.8192 (one|two)_shot ' cache/learnt
check "a head with version, machine and lines" grep -Eq '^# Tern [0-9.]+; .* CPUs.*bound; 2 lines$' cache/learnt
check "only the owner may read and write the file" test "$(stat -c %a cache/learnt)" = 600
check "tern_coll shows the lines" says '^allgather 3 4097' tern_coll show
check "tern_coll shows one collective" eval '! tern_coll show allgather | grep -q ^allreduce'
check "a later job uses the lines at once" says 'allgather of 8192 bytes on 3 ranks: .* by measurement' explained 3 1
check "not with TERN_COLL_TUNE=off" eval '! calls 3 1 -x TERN_COLL_TUNE=off -x TERN_EXPLAIN=1 | grep "by measurement"'
check "not with TERN_COLL_LEARNT=none" eval '! TERN_COLL_LEARNT=none calls 3 1 -x TERN_EXPLAIN=1 | grep "by measurement"'
check "another number of ranks has no lines" eval '! explained 4 1 | grep "by measurement"'
check "a parameter overrides the lines" says 'ranks: ring .* by TERN_COLL' explained 3 1 -x TERN_COLL=allgather=ring

# A valid head, and a line with a row whose sums have other bits.
head=$(head -1 cache/learnt)
{ echo "${head/; 2 lines/; 2 lines}"; echo 'allgather 3 any ring one_host'; echo 'allreduce 3 any ring one_host'; } >cache/learnt
check "a line for an allgather" says 'allgather of 8192 bytes on 3 ranks: ring .* by measurement' explained 3 1
check "no line gives a sum other bits" says "allreduce of 8192 bytes on 3 ranks: flat .* by Tern's own table" explained 3 1
check "the same bits with and without" test "$(calls 3 100 | grep bits)" = "$(calls 3 100 -x TERN_COLL_TUNE=off | grep bits)"
echo 'one more' >>cache/learnt
check "a wrong number of lines is a torn file" says 'learnt is ignored: .*torn' calls 3 1
check "no rank uses the lines of a torn file" eval '! explained 3 1 2>&1 | grep "by measurement"'
printf '%s\n' "${head/; 2 lines/; 1 lines}" 'allgather 3 any rign one_host' >cache/learnt
check "an unknown row invalidates the file" eval '! explained 3 1 | grep "by measurement"'
printf '%s\n' "${head/CPUs/cores}" 'a' 'b' >cache/learnt
check "another machine's file is ignored" says 'another machine' calls 3 1
chmod 666 cache/learnt
check "a file writable by others is ignored" says 'others may write the file' calls 3 1
before=$(cat cache/learnt)
calls 3 600 -x TERN_COLL_TUNE=learn >/dev/null
check "the ignored file stays unchanged" test "$(cat cache/learnt)" = "$before"
check "tern_coll ignores the file, too" says 'nothing was measured' tern_coll forget
check "one remark per job" test "$(calls 3 1 | grep -c ignored)" = 1
# Communicators derived from MPI_COMM_WORLD after a measurement.
cat >twins.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  static double in[1024], out[4096];
  MPI_Comm twin, part, later;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 600; ++i) MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Comm_set_name(twin, "twin");
  MPI_Comm_split(twin, 0, -rank, &part);
  MPI_Comm_set_name(part, "part");
  MPI_Comm_free(&twin);
  MPI_Comm_dup(part, &later);
  MPI_Comm_set_name(later, "later");
  MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, later);
  MPI_Allgather(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, part);
  MPI_Comm_free(&part);
  MPI_Comm_free(&later);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o twins twins.c || exit 1
twins() { "$MPIRUN" --oversubscribe -n 3 -x TERN_EXPLAIN=1 -x TERN_COLL_TUNE="$1" -x TERN_COLL_LEARNT=none ./twins 2>&1; }
check "a part of a duplicate inherits measurements" says 'allgather of 8192 bytes on 3 ranks: .*(part), by measurement' twins learn
check "a duplicate of the part inherits measurements" says 'allgather of 8192 bytes on 3 ranks: .*(later), by measurement' twins learn
cat >hint.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  static double in[1024], out[1024];
  MPI_Comm comm;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Info_create(&info);
  MPI_Info_set(info, "tern_any_order", argv[1]);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  for (int i = 0; i < 600; ++i) MPI_Allreduce(in, out, 1024, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o hint hint.c || exit 1
hint() { "$MPIRUN" --oversubscribe -n 3 -x TERN_EXPLAIN=1 -x TERN_COLL_TUNE=learn -x TERN_COLL_LEARNT=none ./hint "$1" 2>&1; }
check "the hint tern_any_order permits other orders" says 'allreduce of about 8 KiB on 3 ranks.* recursive_doubling.* compete' hint true
check "without the hint the order stays" eval 'hint false | grep compete | grep -v recursive_doubling'
check "no inheritance without measurements" eval '! twins off | grep "by measurement"'

# By PMIx: rank 0 reads and writes the file, and all ranks use rank 0's lines.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
by_pmix() { # by_pmix LAUNCHER TIMES VARIABLE...
  local launcher=$1 times=$2 program=${program:-calls}
  shift 2
  env TERN_BOOT=pmix "$@" timeout 60 "$launcher" --oversubscribe -n 3 "./$program" "$times" 2>&1
}
# A session's communicator starts before the lines arrive, and keeps its rows.
cat >early.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  enum { kBytes = 131072 };
  static char data[kBytes], want[kBytes];
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request;
  int rank;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  memset(want, 7, kBytes);
  if (rank == 0) memset(data, 7, kBytes);
  if (rank == 0) MPI_Ibcast(data, kBytes, MPI_BYTE, 0, comm, &request);
  MPI_Init(&argc, &argv);
  if (rank != 0) MPI_Ibcast(data, kBytes, MPI_BYTE, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (memcmp(data, want, kBytes) == 0 && rank == 2) printf("right\n");
  MPI_Bcast(data, kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  MPI_Session_finalize(&session);
  return 0;
}
C
"$MPICC" -o early early.c || exit 1
for launcher in "$MPIRUN" prterun mpirun.openmpi; do
  command -v "$launcher" >/dev/null || { skip "${launcher##*/} by PMIx" "no $launcher in PATH"; continue; }
  name=${launcher##*/}
  rm -f cache/learnt
  check "$name by PMIx: a learning job" by_pmix "$launcher" 600 TERN_COLL_TUNE=learn
  check "$name by PMIx: writes lines" grep -Eq '^allgather 3 4097\.\.8192 [a-z_]+ one_host  # [0-9.]+ us' cache/learnt
  check "$name by PMIx: a later job uses the lines" says 'allgather of 8192 bytes on 3 ranks: .* by measurement' by_pmix "$launcher" 1 TERN_EXPLAIN=1
  head=$(sed -n '1s/[0-9]* lines$//p' cache/learnt)
  { # 60 KB
    echo "${head}1001 lines"
    for i in {1..1000}; do echo "bcast 99 $i scatter_allgather one_host  # 1.00 us, 3 rounds"; done
    echo 'allgather 3 any ring one_host'
  } >cache/learnt
  check "$name by PMIx: a large file" says 'allgather of 8192 bytes on 3 ranks: ring .* by measurement' by_pmix "$launcher" 1 TERN_EXPLAIN=1
  check "$name by PMIx: no file" eval '! by_pmix "$launcher" 1 TERN_EXPLAIN=1 TERN_COLL_LEARNT=none | grep -E "by measurement|MPI_ERR"'
  { echo "${head}1 lines"; echo 'bcast 3 any scatter_allgather one_host'; } >cache/learnt
  check "$name by PMIx: a call of a session before MPI_Init on one rank" eval 'program=early says "^right" by_pmix "$launcher" 1'
  check "$name by PMIx: lines for the world, none for the session" eval \
    'test "$(program=early by_pmix "$launcher" 1 TERN_EXPLAIN=1 | grep -o "bcast of 131072 bytes.* by [mT][^,;]*" | grep -c "(MPI_COMM_WORLD), by measurement")" = 1'
done

rm -f cache/learnt
echo 'a text of the user' >cache/learnt
calls 3 600 -x TERN_COLL_TUNE=learn >/dev/null
check "a file of another kind stays" test "$(cat cache/learnt)" = 'a text of the user'
rm -f cache/learnt
mkfifo cache/learnt
calls 3 600 -x TERN_COLL_TUNE=learn >/dev/null
check "a pipe stays" test -p cache/learnt
rm -f cache/learnt
flock cache/learnt.lock sleep 5 &
sleep 0.2
check "a lock of another process delays no job" timeout 4 "$MPIRUN" --oversubscribe -n 3 -x TERN_COLL_TUNE=learn ./calls 600
wait
calls 3 600 -x TERN_COLL_TUNE=learn >/dev/null
check "tern_coll deletes the file" says "^removed $work/cache/learnt" tern_coll forget
check "tern_coll without a file" says 'nothing was measured' tern_coll forget
chmod 555 cache
check "a path is relative to mpirun's folder" eval 'TERN_COLL_LEARNT=./here calls 3 600 -x TERN_COLL_TUNE=learn && test -s here'
check "a read-only folder is no error" eval '! calls 3 600 -x TERN_COLL_TUNE=learn | grep -v bits'
chmod 755 cache
check "a wrong word lists the valid words" eval 'calls 2 1 -x TERN_COLL_TUNE=lern | grep "off, auto, learn"'
totals
