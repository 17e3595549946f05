// SPDX-License-Identifier: Apache-2.0
// If the kernel refuses copies between processes (a container's filter), large messages still
// arrive, and the library prints reason and cure.
// ranks: 2 3
// transport: sm, its copies are those of shared memory
// expect-stderr: two copies instead of one.*process_vm_readv.*Operation not permitted.*SYS_PTRACE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

enum { kInts = 1 << 20 };
static int data[kInts];

static void forbid_copies(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
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

int main(int argc, char** argv) {
  forbid_copies();
  begin(&argc, &argv);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  static const int counts[] = {2500, 12000, 60000, kInts};
  for (int i = 0; i < 4; ++i) {
    MPI_Request request;
    int* in = calloc((size_t)counts[i], sizeof(int));
    for (int k = 0; k < counts[i]; ++k) data[k] = k + rank;
    OK(MPI_Irecv(in, counts[i], MPI_INT, left, i, MPI_COMM_WORLD, &request));
    OK(MPI_Send(data, counts[i], MPI_INT, right, i, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int k = 0; k < counts[i]; ++k) CHECK_EQ(in[k], k + left);
    free(in);
  }
  return end();
}
