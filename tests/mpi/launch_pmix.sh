# SPDX-License-Identifier: Apache-2.0
# PMIx in both directions: a foreign client under Tern's mpirun, and Tern programs under every PMIx
# server of this machine: Tern's, prterun, Open MPI's mpirun, Slurm.
# timeout: 180
# waits: yes
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/slurm.sh"
work=$(mktemp -d)
trap 'slurm_stop; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1
export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work

cat >client.c <<'END'
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fail(const char* what, int code) {
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(code));
  exit(1);
}
int main(int argc, char** argv) {
  pmix_proc_t me, other;
  pmix_value_t value, *got;
  pmix_info_t collect;
  char text[64], expected[64];
  bool yes = true;
  int code = PMIx_Init(&me, NULL, 0);
  if (code) fail("PMIx_Init", code);
  const char* what = argc > 1 ? argv[1] : "";
  PMIX_LOAD_PROCID(&other, me.nspace, PMIX_RANK_WILDCARD);
  if ((code = PMIx_Get(&other, PMIX_JOB_SIZE, NULL, 0, &got))) fail("job size", code);
  const unsigned size = got->data.uint32;
  snprintf(text, sizeof text, "card of %u", me.rank);
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  if ((code = PMIx_Put(PMIX_GLOBAL, "card", &value)) || (code = PMIx_Commit())) fail("put", code);
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  if ((code = PMIx_Fence(&other, 1, &collect, 1))) fail("fence", code);
  for (other.rank = 0; other.rank < size; ++other.rank) {
    if ((code = PMIx_Get(&other, "card", NULL, 0, &got))) fail("get", code);
    snprintf(expected, sizeof expected, "card of %u", other.rank);
    if (strcmp(got->data.string, expected)) fail(got->data.string, PMIX_ERROR);
  }
  if (!strcmp(what, "abort") && me.rank == 1) PMIx_Abort(9, "the client gave up", NULL, 0);
  if (!strcmp(what, "die") && me.rank == 1) raise(SIGSEGV);
  if (!strcmp(what, "exit") && me.rank == 1) exit(4);
  if (*what) sleep(60);
  PMIx_Finalize(NULL, 0);
  printf("done %u of %u\n", me.rank, size);
  return 0;
}
END
cat >world.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank % 2 == 0 && rank + 1 < size) {  // the other rank answers in MPI_Finalize
    MPI_Request request;
    MPI_Issend(&rank, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  printf("world %d sum %d\n", size, sum);
  return 0;
}
END

worlds() { # worlds N COMMAND...: N ranks in one world
  local n=$1 got
  shift
  got=$(timeout 60 "$@" 2>errors | grep -c "^world $n sum $((n * (n - 1) / 2))$")
  cat errors
  [ "$got" = "$n" ]
}
clients() { # clients N COMMAND...
  local n=$1 got
  shift
  got=$(timeout 60 "$@" | grep -c "^done [0-9]* of $n$")
  [ "$got" = "$n" ]
}
nothing_left() { ! ls -d "$work"/tern-* 2>/dev/null && ! pgrep -P $$ -x mpirun; }

# A foreign client under Tern's mpirun
if pkg-config --exists pmix && ${CC:-cc} client.c -o client $(pkg-config --cflags --libs pmix) -w; then
  for n in 1 2 5; do check "a PMIx client, $n ranks" clients $n "$MPIRUN" -n $n ./client; done
  check "sections know the whole job" clients 3 "$MPIRUN" -n 1 ./client : -n 2 ./client
  check "PMIx_Abort" fails 9 'rank 1 .*aborted the job with code 9: the client gave up' timeout 20 "$MPIRUN" -n 3 ./client abort
  check "a killed client" fails 139 'rank 1 .*signal 11' timeout 20 "$MPIRUN" -n 3 ./client die
  check "a client that exits" fails 4 'rank 1 .*exit code 4 without MPI_Finalize' timeout 20 "$MPIRUN" -n 3 ./client exit
  check "the server's folder is gone" nothing_left
  "$MPIRUN" -n 2 ./client wait >/dev/null 2>&1 &
  has_folder() { for _ in {1..100}; do ls -d "$work"/tern-mpirun.* 2>/dev/null && return; sleep 0.1; done; false; }
  check "a running server has a folder" has_folder
  kill -9 $! && wait $! 2>/dev/null
  sleep 0.5
  check "kill -9 of mpirun removes the folder" nothing_left
else
  skip "a foreign PMIx client" "no libpmix-dev"
fi

# A rank that dies between its first message to the server and the answer; mpirun learns of the death after the others' start.
cat >die.c <<'END'
#include <signal.h>
#include <sys/socket.h>
ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  const ssize_t sent = sendto(fd, data, bytes, flags, 0, 0);
  if (bytes > 16) raise(SIGKILL);
  return sent;
}
END
cat >early.sh <<'END'
[ "$PMIX_RANK" = 0 ] || { sleep 0.2; exec ./world; }
LD_PRELOAD=./die.so ./world
sleep 0.5
exit 5
END
early() { for _ in 1 2 3 4 5 6; do TERN_BOOT=pmix fails 5 'rank 0 .*exit code 5' "$MPIRUN" -n 4 sh early.sh || return; done; }

# Tern under PMIx servers
if ! "$MPICC" world.c -o world; then
  skip "Tern programs under PMIx servers" "no mpicc"
  totals
fi
if ${CC:-cc} -shared -fPIC die.c -o die.so; then check "a death in the handshake with mpirun's server" early; fi
check "our mpirun's server" worlds 3 env TERN_BOOT=pmix "$MPIRUN" -n 3 ./world
for launcher in prterun mpirun.openmpi; do
  if command -v $launcher >/dev/null; then
    check "$launcher" worlds 3 $launcher --oversubscribe -n 3 ./world
  else
    skip "$launcher" "no $launcher in PATH"
  fi
done

# PMIx servers from 5.0.9 complain about the greeting of clients before 4.2.3. TERN_EXPLAIN says
# that the complaint is harmless.
remarks() {
  TERN_EXPLAIN=1 timeout 60 prterun --oversubscribe -n 2 ./world >out 2>&1 || { cat out; return 1; }
  cat out
  [ "$(grep -c 'PMIX ERROR: PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER' out)" = \
    "$((2 * $(grep -c 'the launcher prints PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER once for each rank' out)))" ]
}
if command -v prterun >/dev/null; then
  check "prterun's complaint is explained" remarks
else
  skip "prterun's complaint is explained" "no prterun in PATH"
fi

# Slurm: real daemons, four nodes on this machine
if reason=$(slurm_missing); then
  skip "Slurm" "$reason"
else
  slurm_cpus=4
  check "Slurm starts" slurm_start "$work/s" n0 n1 n2 n3
  check "srun --mpi=pmix" worlds 4 srun --mpi=pmix -N 1 -n 4 ./world
  check "srun without --mpi=pmix names the cure" fails 16 'srun --mpi=pmix' timeout 20 srun -N 1 -n 2 ./world
  check "mpirun inside an allocation of one node" worlds 2 salloc -Q -N 1 -n 2 "$MPIRUN" -n 2 ./world
fi
totals
