# SPDX-License-Identifier: Apache-2.0
# Hang reports: SIGQUIT, --timeout and TERN_HANG name each rank's call, and the cycle.
# timeout: 120
# waits: yes
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat > stuck.c <<'C'
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 20];

int main(int argc, char** argv) {
  int rank, size, flag = 0;
  char x[3];
  const char* how = argv[1];
  MPI_Request requests[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  if (strcmp(how, "receives") == 0) MPI_Recv(x, 1, MPI_CHAR, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "sends") == 0) MPI_Send(block, sizeof block, MPI_CHAR, right, 7, MPI_COMM_WORLD);
  if (strcmp(how, "probe") == 0) MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "barrier") == 0 && rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "waitall") == 0) {
    for (int i = 0; i < 3; ++i) MPI_Irecv(x + i, 1, MPI_CHAR, left, i, MPI_COMM_WORLD, requests + i);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  }
  if (strcmp(how, "test") == 0) {
    MPI_Irecv(x, 1, MPI_CHAR, left, 3, MPI_COMM_WORLD, requests);
    while (!flag) MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
  }
  if (rank == 0) sleep(30);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o stuck stuck.c || exit 1

tells() { # tells HOW PATTERN...: the report of --timeout matches all patterns
  local how=$1 text
  shift
  text=$("$MPIRUN" -n 3 --timeout 1 ./stuck "$how" 2>&1)
  [ $? = 124 ] || { printf 'exit is not 124:\n%s\n' "$text"; return 1; }
  for pattern; do
    grep -q -e "$pattern" <<<"$text" || { printf 'no "%s" in:\n%s\n' "$pattern" "$text"; return 1; }
  done
}
check "receives in a ring" tells receives \
  'rank 1: MPI_Recv, .* s: waits for a message of up to 1 B from rank 0 of MPI_COMM_WORLD, tag 7' \
  'Deadlock: rank 0 waits for 2, 2 waits for 1, 1 waits for 0'
check "sends in a ring" tells sends \
  'rank 0: MPI_Send, .* waits for rank 1 of MPI_COMM_WORLD to receive 1 MiB, tag 7' 'Deadlock: rank 0 waits for 1'
check "probes of any source" tells probe 'MPI_Probe, .* a message from any rank of MPI_COMM_WORLD, tag 5' Deadlock
check "several requests" tells waitall 'MPI_Waitall, .*tag 0 (and 2 more of 3 requests)' 'rank 0 waits for 2'
check "a rank in MPI_Test" tells test 'rank 2: MPI_Test, .* polls without result; under way: .* tag 3'
check "a rank outside MPI, no deadlock" tells barrier \
  'rank 0: outside MPI; the last call was MPI_Comm_size (asleep' 'rank 1: MPI_Barrier, .*its part in a barrier'
check "no deadlock reported while a rank is outside MPI" sh -c \
  "! '$MPIRUN' -n 3 --timeout 1 ./stuck barrier 2>&1 | grep Deadlock"
check "ranks in MPI_Finalize name the missing rank" tells finalize \
  'rank 1: MPI_Finalize waits for all ranks; missing: 0'

hangs() { # one report of TERN_HANG, without a signal
  local text
  text=$("$MPIRUN" -n 3 -x TERN_HANG=300ms --timeout 2 ./stuck receives 2>&1)
  [ "$(grep -c 'no rank has made progress in MPI' <<<"$text")" = 1 ] || { printf '%s\n' "$text"; return 1; }
}
check "TERN_HANG prints one report" hangs
check "TERN_HANG prints no report while a rank computes" sh -c \
  "! '$MPIRUN' -n 3 -x TERN_HANG=200ms --timeout 1 ./stuck barrier 2>&1 | grep 'no rank has'"

asks() { # SIGQUIT prints a report, and the job continues
  "$MPIRUN" -n 2 ./stuck receives 2>report &
  local pid=$!
  sleep 0.5
  kill -QUIT $pid
  sleep 1
  kill -0 $pid || return 1
  kill -TERM $pid
  wait $pid
  cat report
  grep -q 'waiting ranks (SIGQUIT)' report && grep -q 'Deadlock: rank 0 waits for 1' report
}
check "SIGQUIT reports and ends no rank" asks
cat > busy.c <<'C'
// Ranks that work in turn: each rank waits at times, but never forever. "threads": the main thread
// waits for a message of a second thread in the other rank.
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void* send_late(void* nothing) {
  sleep(2);
  MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
  return nothing;
}

int main(int argc, char** argv) {
  int provided, x = 0;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "threads") == 0) {
    pthread_create(&thread, NULL, send_late, NULL);
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  }
  if (strcmp(argv[1], "pingpong") == 0)
    for (int i = 0; i < 100; ++i) {
      if (i % 2 == rank) usleep(20000);
      if (i % 2 == rank) MPI_Send(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
      else MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -pthread -o busy busy.c || exit 1
never_cries() { # never_cries HOW: repeated reports claim no deadlock, and the job succeeds
  "$MPIRUN" -n 2 ./busy "$1" 2>report &
  local pid=$!
  for _ in 1 2 3 4 5 6; do
    sleep 0.25
    kill -QUIT $pid
  done
  wait $pid || { cat report; return 1; }
  cat report
  [ "$(grep -c 'waiting ranks' report)" -ge 4 ] && ! grep -q Deadlock report
}
check "ranks working in turn are no deadlock" never_cries pingpong
check "a thread outside MPI may still send" never_cries threads
alone() {
  local text
  text=$(TERN_HANG=300ms timeout 2 ./stuck probe 2>&1)
  grep -q 'no progress for .* in MPI_Probe: waits for' <<<"$text" || { printf '%s\n' "$text"; return 1; }
}
check "without mpirun, a rank prints its own report" alone
totals
