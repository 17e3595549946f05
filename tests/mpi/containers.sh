# SPDX-License-Identifier: Apache-2.0
# A namespace per rank, unreadable program files, PR_SET_DUMPABLE 0, system call filters: MPI works
# over shared memory, or ends with a message.
# timeout: 600
# transport: sm, shared memory alone
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
chmod 711 "$work"
cd "$work" || exit 1
cat >all.c <<'END_OF_C'
// Messages, collectives, windows, duplicates, sleeping ranks. Prints "all is right" and the number
// of ranks that share memory.
// all [dumpable MODE]: PR_SET_DUMPABLE 0 before MPI_Init (1), after MPI_Init (2), later on rank 1
// (3).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static int rank, size, wrong;
#define RIGHT(condition) \
  do { if (!(condition) && wrong++ < 3) printf("rank %d, line %d: %s\n", rank, __LINE__, #condition); } while (0)
static void messages(MPI_Comm comm, int count) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int* out = malloc(sizeof(int) * (size_t)count);
  int* in = malloc(sizeof(int) * (size_t)count);
  for (int i = 0; i < count; i++) out[i] = rank * 7 + i, in[i] = -1;
  MPI_Sendrecv(out, count, MPI_INT, to, 1, in, count, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) RIGHT(in[i] == from * 7 + i);
  MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; i++) RIGHT(in[i] == size * (size - 1) / 2 * 7 + size * i);
  MPI_Request request;
  if (rank == 0) memcpy(in, out, sizeof(int) * (size_t)count);
  MPI_Ibcast(in, count, MPI_INT, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) RIGHT(in[i] == i);
  free(out);
  free(in);
}
static void windows(int count) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int* own = calloc((size_t)count, sizeof(int));
  int* out = malloc(sizeof(int) * (size_t)count);
  for (int i = 0; i < count; i++) out[i] = rank + i;
  for (int kind = 0; kind < 3; kind++) {
    MPI_Win window;
    int* base = own;
    const MPI_Aint bytes = (MPI_Aint)sizeof(int) * count;
    if (kind == 0) MPI_Win_create(own, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (kind == 1) MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    if (kind == 2) MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, count, MPI_INT, to, 0, count, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < count; i++) RIGHT(base[i] == from + i);
    MPI_Win_fence(0, window);
    int one = 1, old = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      RIGHT(base[0] == from + 2 * size);
      MPI_Win_unlock(0, window);
    }
    MPI_Win_fence(0, window);
    if (kind == 2) {
      MPI_Aint other;
      int unit, *there;
      MPI_Win_shared_query(window, from, &other, &unit, &there);
      RIGHT(count < 2 || there[1] == (from + size - 1) % size + 1);
      MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
  }
  free(own);
  free(out);
}
// The other ranks sleep, and wake in time.
static void sleeps(void) {
  for (int turn = 0; turn < 3; turn++) {
    int got = 0;
    if (rank == 0) usleep(60000);
    const double before = MPI_Wtime();
    if (rank == 0) for (int to = 1; to < size; to++) MPI_Send(&turn, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    else MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) RIGHT(got == turn);
    RIGHT(MPI_Wtime() - before < 5);
  }
}
int main(int argc, char** argv) {
  const int mode = argc > 2 ? atoi(argv[2]) : 0;
  if (mode == 1) prctl(PR_SET_DUMPABLE, 0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (mode == 2) prctl(PR_SET_DUMPABLE, 0);
  MPI_Comm twice, near;
  MPI_Comm_dup(MPI_COMM_WORLD, &twice);
  for (int count = 1; count <= 1 << 18; count *= 64) {
    messages(count % 2 ? MPI_COMM_WORLD : twice, count);
    windows(count);
    if (mode == 3 && rank == 1) prctl(PR_SET_DUMPABLE, 0);
  }
  sleeps();
  int shared, all = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  MPI_Comm_size(near, &shared);
  MPI_Comm_free(&near);
  MPI_Comm_free(&twice);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("all is right, %d share\n", shared);
  MPI_Finalize();
  return all != 0;
}
END_OF_C
cat >refuse.c <<'END_OF_C'
// refuse ERROR CALL... -- PROGRAM ...: runs PROGRAM; the named system calls fail with ERROR.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static const struct { const char* name; unsigned number; } kCalls[] = {
    {"memfd_create", SYS_memfd_create}, {"pidfd_open", SYS_pidfd_open}, {"pidfd_getfd", SYS_pidfd_getfd},
    {"process_vm_readv", SYS_process_vm_readv}, {"process_vm_writev", SYS_process_vm_writev}};
int main(int argc, char** argv) {
  struct sock_filter code[32];
  unsigned short used = 0;
  const unsigned error = argc > 1 && strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
  code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  int at = 2;
  for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
    size_t i = 0;
    while (i < sizeof kCalls / sizeof *kCalls && strcmp(kCalls[i].name, argv[at]) != 0) i++;
    if (i == sizeof kCalls / sizeof *kCalls) return fprintf(stderr, "no call %s\n", argv[at]), 2;
    code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kCalls[i].number, 0, 1);
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  }
  code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {used, code};
  if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return perror("refuse"), 77;
  execvp(argv[at + 1], argv + at + 1);
  return perror(argv[at + 1]), 127;
}
END_OF_C
cat >dies.c <<'END_OF_C'
// Rank 1 dies while the others wait: after a message (1), at once (2).
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (atoi(argv[1]) == 1) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1) raise(SIGKILL);
  if (rank == 1) _exit(3);  // the first process of a PID namespace ignores SIGKILL from inside
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END_OF_C
for program in all refuse dies; do "$MPICC" -O1 "$program.c" -o "$program" || exit 1; done
chmod 755 all refuse dies
right="^all is right, 4 share$"
run() { timeout -k 1 60 "$@"; }
silent() { # silent COMMAND...: succeeds, with only the remark on copies on stderr
  says "$right" "$@" 2>err || { cat err; return 1; }
  ! grep -v 'two copies instead of one\|windows of the program.s own memory use messages' err
}
ends() { # ends COMMAND...: fails within 20 s
  local code=0 since=$SECONDS
  timeout -k 1 20 "$@" >out 2>&1 || code=$?
  echo "exit $code after $((SECONDS - since)) s: $(cat out)"
  [ $code != 0 ] && [ $code != 124 ] && [ $((SECONDS - since)) -lt 20 ]
}
# Root may read all of /proc outside namespaces, so these programs run as another user.
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
has_user() { "${user[@]}" "$MPIRUN" --version >/dev/null 2>&1; }

for spaces in "-U -r" "-U -r -m" "-U -r -n" "-U -r -p --fork" "-U -r -p -m --mount-proc --fork" "-U -r -m -n -i -u -p --fork"; do
  # shellcheck disable=SC2086
  if ! unshare $spaces true 2>/dev/null; then
    skip "unshare $spaces" "the kernel refuses such namespaces here"
    continue
  fi
  check "each rank in unshare $spaces" silent run "$MPIRUN" -n 4 unshare $spaces ./all
  check "ranks in unshare $spaces and outside" says "$right" run "$MPIRUN" -n 2 ./all : -n 2 unshare $spaces ./all
  for how in 1 2; do
    check "a rank in unshare $spaces dies, way $how" ends "$MPIRUN" -n 4 unshare $spaces ./dies $how
  done
done
if unshare -U -r true 2>/dev/null; then
  spaces="unshare -U -r"
  check "one rank in a user namespace" says "$right" run "$MPIRUN" -n 3 ./all : -n 1 $spaces ./all
  check "two programs, one after the other" says "$right" run "$MPIRUN" -n 4 $spaces sh -c './all; ./all'
  if unshare -U -r -p --fork true 2>/dev/null; then
    check "two programs, each in its own PID namespace" says "$right" run "$MPIRUN" -n 4 \
      sh -c 'unshare -U -r -p --fork ./all; unshare -U -r -p --fork ./all'
  fi
  check "TERN_SM_SINGLE_COPY=pipeline prints no remark" silent run "$MPIRUN" --set sm_single_copy=pipeline -n 4 $spaces ./all
  check "progress threads" says "$right" run "$MPIRUN" -n 4 -genv TERN_PROGRESS thread $spaces ./all
  # Keeper threads of the ranks, as under other launchers. PMIx compares user ids.
  if unshare -U --map-current-user true 2>/dev/null; then
    check "the PMIx server instead" says "$right" run env TERN_BOOT=pmix "$MPIRUN" -n 4 unshare -U --map-current-user ./all
  else
    skip "the PMIx server instead" "this unshare has no --map-current-user"
  fi
  check "sixteen ranks" says "^all is right, 16 share$" run "$MPIRUN" -n 16 $spaces ./all
else
  skip "user namespaces" "the kernel refuses them here"
fi

if has_user; then
  for mode in 1 2 3; do
    check "PR_SET_DUMPABLE 0, mode $mode" says "$right" run "${user[@]}" "$MPIRUN" -n 4 ./all dumpable $mode
  done
  check "PR_SET_DUMPABLE 0 with the PMIx server" says "$right" run "${user[@]}" env TERN_BOOT=pmix "$MPIRUN" -n 4 ./all dumpable 1
  cp all unreadable && chmod 111 unreadable
  check "an unreadable program file" says "$right" run "${user[@]}" "$MPIRUN" -n 4 ./unreadable
else
  skip "programs that may not be dumped" "root may read all, and another user cannot run mpirun here"
fi

./refuse EPERM memfd_create -- true
if [ $? = 77 ]; then
  skip "filters of system calls" "the kernel refuses them here"
  totals
fi
all_calls="memfd_create pidfd_open pidfd_getfd process_vm_readv process_vm_writev"
for error in EPERM ENOSYS; do
  check "memfd_create refused to ranks ($error)" silent run "$MPIRUN" -n 4 ./refuse $error memfd_create -- ./all
  check "memfd_create refused to mpirun and ranks ($error)" silent run ./refuse $error memfd_create -- "$MPIRUN" -n 4 ./all
  check "more calls refused to ranks ($error)" says "$right" run "$MPIRUN" -n 4 ./refuse $error $all_calls -- ./all
  check "more calls refused to mpirun and ranks ($error)" says "$right" run ./refuse $error $all_calls -- "$MPIRUN" -n 4 ./all
  check "a rank dies without pidfd_open ($error)" ends ./refuse $error $all_calls -- "$MPIRUN" -n 4 ./dies 1
done
check "/dev/shm is empty" sh -c '! ls /dev/shm /tmp | grep "^tern\.[A-Za-z0-9]\{6\}$"'
if unshare -U -r -m true 2>/dev/null; then
  check "a namespace per rank, and memfd_create refused" says "$right" run "$MPIRUN" -n 4 unshare -U -r -m \
    ./refuse EPERM memfd_create -- ./all
  # /dev/shm is too small.
  small=(unshare -U -r -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"' sh)
  if "${small[@]}" true 2>/dev/null; then
    check "TMPDIR replaces a small /dev/shm" silent run "${small[@]}" ./refuse EPERM memfd_create -- "$MPIRUN" -n 4 ./all
    check "an error if no folder has space" fails 1 \
      'memfd_create is refused (Operation not permitted).*/dev/shm: No space.*/nowhere: No such file.*TMPDIR' \
      run env TMPDIR=/nowhere "${small[@]}" ./refuse EPERM memfd_create -- "$MPIRUN" -n 2 ./all
  else
    skip "a small /dev/shm" "no file system can be mounted in a namespace here"
  fi
fi
totals
