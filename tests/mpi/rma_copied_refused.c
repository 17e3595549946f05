// SPDX-License-Identifier: Apache-2.0
// If the kernel refuses writes to other ranks (a container's filter), windows use messages, and the
// library prints reason and cure once.
// ranks: 2 3
// hosts: no, ranks of other hosts use messages anyhow
// transport: sm, the others are to other hosts
// expect-stderr: use messages.*rank 1 may not copy memory of rank 0: Operation not
// permitted.*SYS_PTRACE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

static void forbid_writing(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("no system call filter here");
    exit(77);
  }
}

static void use(MPI_Win win, const long* mine) {
  const long one = 1, value = 100 + rank;
  long old = -1, back = -1;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Put(&value, 1, MPI_LONG, next, 1, 1, MPI_LONG, win));
  OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
  OK(MPI_Win_flush_all(win));
  CHECK(old >= 0 && old < size);
  OK(MPI_Get(&back, 1, MPI_LONG, next, 1, 1, MPI_LONG, win));
  OK(MPI_Win_unlock_all(win));
  CHECK_EQ(back, value);
  OK(MPI_Win_fence(0, win));
  CHECK_EQ(mine[0], rank == 0 ? size : 0);
  CHECK_EQ(mine[1], 100 + before);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  long memory[2] = {0, -1};
  MPI_Win win;
  OK(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  use(win, memory);
  OK(MPI_Win_free(&win));
  if (rank == 1) forbid_writing();
  for (int i = 0; i < 2; ++i) {
    memory[0] = 0;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    use(win, memory);
    OK(MPI_Win_free(&win));
  }
  return end();
}
