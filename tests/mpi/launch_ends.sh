# SPDX-License-Identifier: Apache-2.0
# mpirun's messages and exit codes for MPI_Abort, missing MPI_Finalize, exits after MPI_Finalize,
# and kills inside MPI.
# timeout: 240
# transport: sm, over a network others may tell of the death before mpirun sees it
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >ends.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const char* how = argv[1];
  const int code = argc > 2 ? atoi(argv[2]) : 0;
  int rank, size;
  if (!strcmp(how, "before")) exit(code);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const int one = rank == (size > 1 ? 1 : 0);
  if (one && !strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, code);
  if (one && !strcmp(how, "exit")) exit(code);
  if (one && !strcmp(how, "kill")) raise(code);
  if (!strcmp(how, "all")) exit(code);
  if (strcmp(how, "after")) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (!one) usleep(200000);
  if (!one) printf("peaceful end\n");
  return one ? code : 0;
}
END
check "mpicc" "$MPICC" ends.c -o ends
ends() { # ends CODE PATTERN ARGUMENTS...: runs three ranks, and leaves no rank
  local code=$1 pattern=$2 got
  shift 2
  timeout 30 "$MPIRUN" -n 3 ./ends "$@" >out 2>err
  got=$?
  printf 'exit %s: %s\n' "$got" "$(cat out err)"
  [ "$got" = "$code" ] && grep -q -e "$pattern" err && ! pgrep -f "$work/ends"
}
silent() { ends "$@" && [ ! -s err ]; }
check "MPI_Abort(5)" ends 5 'rank 1 on host .* aborted the job with code 5: MPI_Abort on MPI_COMM_WORLD' abort 5
check "MPI_Abort(0) is no success" ends 1 'aborted the job with code 0' abort 0
check "MPI_Abort(256) is no success" ends 1 'aborted the job with code 256' abort 256
check "killed in the middle" ends 139 'rank 1 .*signal 11' kill 11
check "SIGKILL" ends 137 'rank 1 .*signal 9' kill 9
check "exit(3) without MPI_Finalize" ends 3 'rank 1 .*exit code 3 without MPI_Finalize' exit 3
check "exit(0) without MPI_Finalize while others wait" ends 1 'rank 1 .*exit code 0, but without MPI_Finalize' exit 0
check "all exit(0) without MPI_Finalize: an error" ends 1 '3 of 3 ranks ended with exit code 0, but without MPI_Finalize' all 0
check "exit(0) of a single rank without MPI_Finalize" fails 1 'the rank ended with exit code 0, but without MPI_Finalize' "$MPIRUN" -n 1 ./ends all 0
check "-q keeps the error" fails 1 'without MPI_Finalize' "$MPIRUN" -q -n 2 ./ends all 0
check "exit before MPI_Init" ends 6 'ended with exit code 6\.' before 6
check "a code after MPI_Finalize" ends 4 'rank 1 .*exit code 4 after MPI_Finalize' after 4
check "a code after MPI_Finalize ends no other rank" grep -c 'peaceful end' out
check "success is silent" test "$("$MPIRUN" -n 3 ./ends after 0 2>&1 | sort -u)" = "peaceful end"
check "MPI_Abort of a world of one" sh -c './ends abort 5; [ $? = 5 ]'
check "a rank inside a script" sh -c "'$MPIRUN' -n 3 sh -c './ends abort 7; exit 0'; [ \$? = 7 ]"

# Linux mostly tells of a rank's closed outputs before the rank's end. This library lets events
# gather, and hands them to mpirun in the reverse order.
cat >reverse.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
#include <unistd.h>
int epoll_wait(int fd, struct epoll_event* events, int most, int timeout) {
  int (*real)(int, struct epoll_event*, int, int) = dlsym(RTLD_NEXT, "epoll_wait");
  if (timeout != 0) usleep(100000);
  const int got = real(fd, events, most, timeout);
  for (int i = 0; i < got / 2; ++i) {
    const struct epoll_event event = events[i];
    events[i] = events[got - 1 - i];
    events[got - 1 - i] = event;
  }
  return got;
}
END
check "cc" cc -shared -fPIC reverse.c -o reverse.so -ldl
reversed() { LD_PRELOAD="$work/reverse.so" "$@"; }
check "all exit(0), the end told before the closed outputs" reversed fails 1 'without MPI_Finalize' \
  "$MPIRUN" -q -n 2 ./ends all 0
check "killed, the end told before the closed outputs" reversed ends 139 'signal 11' kill 11
check "MPI_Abort, the end told before the closed outputs" reversed ends 5 'with code 5' abort 5
totals
