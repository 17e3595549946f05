// SPDX-License-Identifier: Apache-2.0
// Copies between processes work first, then fail (secret memory, a system call filter). Every
// message still arrives.
// ranks: 2 3
// transport: sm, its copies are those of shared memory
// env: TERN_SM_SINGLE_COPY=auto TERN_TEST=sm_pull_limit=0,sm_both_limit=300k
// expect-stderr: two copies: the kernel denies (copies|other processes)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { kInts = 1 << 20, kSecretInts = 1 << 18 };

static void forbid_copies(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 14 /* EFAULT */),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("no system call filter here");
    exit(77);
  }
}

static int* secret_ints(size_t count) {
  const int fd = (int)syscall(447 /* memfd_secret */, 0);
  if (fd < 0) return NULL;
  void* at = MAP_FAILED;
  if (ftruncate(fd, (off_t)(count * sizeof(int))) == 0)
    at = mmap(NULL, count * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? NULL : at;
}

static void exchange(int* out, int* in, int count, MPI_Datatype type, int room) {
  const int other = 1 - rank, ints = count;
  MPI_Request request;
  MPI_Status status;
  for (int k = 0; k < ints; ++k) out[k] = k * 3 + rank, in[k] = -1;
  OK(MPI_Isend(out, count, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
  const int code = MPI_Recv(in, room, type, other, 1, MPI_COMM_WORLD, &status);
  CHECK_EQ(class_of(code), room < count ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int k = 0; k < room && k < count; ++k) CHECK_EQ(in[k], k * 3 + other);
}

// The pairs are reversed, so the sender must pack.
static void exchange_columns(int* out, int* in, int count) {
  const int other = 1 - rank;
  MPI_Datatype column;
  MPI_Request request;
  OK(MPI_Type_vector(count / 2, 1, 2, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  for (int k = 0; k < count; ++k) out[k] = k + rank, in[k] = -1;
  OK(MPI_Isend(out, 1, column, other, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(in, 1, column, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int k = 0; k < count; ++k) CHECK_EQ(in[k], k % 2 ? -1 : k + other);
  OK(MPI_Type_free(&column));
}

static void all_ways(int* out, int* in, int most) {
  static const int counts[] = {5000, 50000, 200000, kInts};
  for (int i = 0; i < 4; ++i) {
    if (counts[i] > most) continue;
    exchange(out, in, counts[i], MPI_INT, counts[i]);
    exchange(out, in, counts[i], MPI_INT, counts[i] / 2);
    exchange_columns(out, in, counts[i]);
  }
}

static void collectives(int* out, int* in, int count) {
  const int half = count / 2;
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int k = 0; k < count; ++k) out[k] = k + rank, in[k] = in_place ? out[k] : -1;
    OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int k = 0; k < count; ++k) CHECK_EQ(in[k], size * k + size * (size - 1) / 2);
    for (int k = 0; k < count; ++k) in[k] = in_place ? out[k] : -1;
    OK(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : out, in, count / size, MPI_INT, MPI_SUM,
                                MPI_COMM_WORLD));
    for (int k = 0; k < count / size; ++k)
      CHECK_EQ(in[k], size * (rank * (count / size) + k) + size * (size - 1) / 2);
    for (int k = 0; k < count; ++k) in[k] = in_place ? out[k] : -1;
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : out, count / size, MPI_INT, in, count / size, MPI_INT,
                    MPI_COMM_WORLD));
    for (int k = 0; k < count / size; ++k)
      CHECK_EQ(in[count / size + k], rank * (count / size) + k + 1);
    for (int k = 0; k < half / size; ++k) in[rank * (half / size) + k] = out[k];
    OK(MPI_Allgather(in_place ? MPI_IN_PLACE : out, half / size, MPI_INT, in, half / size, MPI_INT,
                     MPI_COMM_WORLD));
    for (int k = 0; k < half / size; ++k) CHECK_EQ(in[half / size + k], k + 1);
  }
  for (int k = 0; k < count; ++k) out[k] = k + rank;
  OK(MPI_Reduce(out, rank == 0 ? in : NULL, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  for (int k = 0; k < count && rank == 0; ++k) CHECK_EQ(in[k], size * k + size * (size - 1) / 2);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int *out = malloc(kInts * sizeof(int)), *in = malloc(kInts * sizeof(int));
  if (size == 2) all_ways(out, in, kInts);
  int *secret = secret_ints(kSecretInts), *there = secret_ints(kSecretInts);
  if (secret != NULL && there != NULL) {
    collectives(secret, in, kSecretInts);
    collectives(out, there, kSecretInts);
    collectives(secret, there, kSecretInts);
    if (size > 2) return end();
    all_ways(secret, in, kSecretInts);
    all_ways(out, there, kSecretInts);
    all_ways(secret, there, kSecretInts);
  }
  if (rank == 1) forbid_copies();
  all_ways(out, in, kInts);
  return end();
}
