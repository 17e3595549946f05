# SPDX-License-Identifier: Apache-2.0
# A rank killed by a signal prints a backtrace, and keeps its exit status. The program's handlers
# stay installed.
# timeout: 120
# transport: sm, over a network others may tell of the death before mpirun sees it
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
ulimit -c 0
cat >crash.cc <<'END_OF_PROGRAM'
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
namespace plate {
volatile int zero = 0;
int* volatile nowhere = nullptr;
struct Solver {
  __attribute__((noinline)) int sweep(const char* how, int deep) {
    if (deep > 0) return sweep(how, deep - 1) + zero;
    if (!strcmp(how, "segv")) *nowhere = 1;
    if (!strcmp(how, "fpe")) return 10 / zero;
    if (!strcmp(how, "ill")) __builtin_trap();
    if (!strcmp(how, "jump")) return reinterpret_cast<int (*)()>(nowhere)() + 1;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "bus")) raise(SIGBUS);
    if (!strcmp(how, "mpi")) MPI_Send(reinterpret_cast<char*>(nowhere) + (1 << 20), 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "heap")) {
      char* volatile block = static_cast<char*>(malloc(32));
      free(block);
      free(block);
    }
    return 0;
  }
};
__attribute__((noinline)) int overflow(volatile char* before) {
  volatile char here[1024];
  here[0] = before[0];
  return overflow(here) + here[0];
}
}  // namespace plate
static void* thread(void* how) {
  plate::Solver().sweep(static_cast<const char*>(how), 0);
  return nullptr;
}
// Holds a lock needed by the report.
static int keep_lock(dl_phdr_info*, size_t, void* kept) {
  *static_cast<volatile bool*>(kept) = true;
  for (;;) usleep(1000);
}
static void* lock_up(void* kept) {
  dl_iterate_phdr(keep_lock, kept);
  return nullptr;
}
static void on_alarm(int) { write(2, "own alarm\n", 10); }
static void crash_with_lock_and_alarm() {
  volatile bool kept = false;
  pthread_t one;
  pthread_create(&one, nullptr, lock_up, const_cast<bool*>(&kept));
  while (!kept) usleep(1000);
  signal(SIGALRM, on_alarm);
  const itimerval half{{0, 500000}, {0, 500000}};
  setitimer(ITIMER_REAL, &half, nullptr);
  *plate::nowhere = 1;
}
static void own(int) { write(2, "own handler\n", 12); _exit(7); }
int main(int argc, char** argv) {
  const std::string how = argv[1];
  if (how == "own-before") signal(SIGSEGV, own);
  MPI_Init(&argc, &argv);
  if (how == "own-after") signal(SIGSEGV, own);
  if (how == "finalized") MPI_Finalize();
  int rank = 0;
  if (how != "finalized") MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    volatile char first[1] = {0};
    if (how == "overflow") return plate::overflow(first);
    if (how == "stuck") crash_with_lock_and_alarm();
    if (how.compare(0, 6, "thread") == 0) {
      pthread_t one;
      pthread_create(&one, nullptr, thread, const_cast<char*>("segv"));
      pthread_join(one, nullptr);
    }
    const char* what = how.compare(0, 3, "own") == 0 || how == "finalized" ? "segv" : argv[1];
    plate::Solver().sweep(what, 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
END_OF_PROGRAM
check "mpicxx" "$MPICXX" -g -O1 crash.cc -o crash -pthread
line=$(grep -n 'nowhere = 1' crash.cc | cut -d: -f1)

crashes() { # crashes HOW CODE SIGNAL PATTERN: two ranks; SIGNAL kills rank 0, and the report has PATTERN
  local got
  timeout 60 "$MPIRUN" -n 2 ./crash "$1" >out 2>err
  got=$?
  printf 'exit %s: %s\n' "$got" "$(cat out err)"
  [ "$got" = "$2" ] && grep -q "^\[rank 0\] killed by $3" err && grep -q -e "$4" err
}
if "$PREFIX/bin/tern_info" --build | grep -q 'by libbacktrace'; then
  check "SIGSEGV, with function, file and line" crashes segv 139 SIGSEGV "#0 plate::Solver::sweep(char const\*, int) at .*crash.cc:$line"
  check "the callers" grep -q '#3 main at .*crash.cc:' err
  check "the address" grep -q 'at address 0x0 ' err
  check "a call of a null pointer" crashes jump 139 SIGSEGV '#0 plate::Solver::sweep.* at .*crash.cc'
  check "SIGFPE" crashes fpe 136 SIGFPE 'an integer divided by zero'
  check "SIGILL" crashes ill 132 SIGILL 'sweep.* at .*crash.cc'
  check "SIGABRT" crashes abort 134 SIGABRT 'sweep.* at .*crash.cc'
  check "a broken heap" crashes heap 134 SIGABRT 'sweep.* at .*crash.cc'
  check "in MPI" crashes mpi 139 SIGSEGV 'sweep.* at .*crash.cc'
  check "in a thread" crashes thread 139 SIGSEGV 'thread.* at .*crash.cc'
else
  skip "function, file and line" "built without libbacktrace"
fi
check "a signal from another process" crashes bus 135 'SIGBUS (bus error), sent by process'
check "a stack overflow" crashes overflow 139 SIGSEGV 'and more'
check "after MPI_Finalize" fails 139 'killed by SIGSEGV' "$MPIRUN" -n 2 ./crash finalized
check "without mpirun" sh -c './crash segv 2>err; [ $? = 139 ] && grep -q "killed by SIGSEGV" err'
quiet() { # quiet CODE PATTERN COMMAND...: without a report
  fails "$@" && ! "${@:3}" 2>&1 | grep 'killed by SIGSEGV ('
}
check "the program's own handler, set before MPI_Init" quiet 7 'own handler' "$MPIRUN" -n 1 ./crash own-before
check "the program's own handler, set after MPI_Init" quiet 7 'own handler' "$MPIRUN" -n 1 ./crash own-after
stuck() { # no report is possible; the program's alarm still fires
  local begun=$SECONDS
  crashes stuck 139 SIGSEGV 'own alarm' || return 1
  [ $((SECONDS - begun)) -le 4 ] || { echo "took $((SECONDS - begun)) s"; return 1; }
}
check "a report blocked by a lock ends soon, and SIGALRM reaches the program" stuck
check "TERN_BACKTRACE=0" quiet 139 'signal 11' "$MPIRUN" --set backtrace=0 -n 2 ./crash segv
check "a core file of the fault" sh -c 'ulimit -c unlimited; "$MPIRUN" -n 1 ./crash segv 2>&1 | grep -q "signal 11"'
check "the backtrace code exports no symbol" sh -c '! nm -D --defined-only "$PREFIX/lib/libmpi_abi.so.1" | grep -v " P\\?MPI"'
totals
