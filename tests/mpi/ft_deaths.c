// SPDX-License-Identifier: Apache-2.0
// Ranks kill themselves at random moments of a loop of agree, iagree, shrink, collectives and
// messages. The survivors shrink and go on, and agree on every result; a wait ends in time.
// args: a number of seeds; each seed ends with a single rank, so a job has size - 1 deaths.
// ranks: 8
// mpirun: --with-ft ulfm
// args: 7
// timeout: 60
// sanitizers: no, processes are killed
// hosts: no, the ranks of a job on several hosts end together
#include "check.h"

#include <mpix.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 64, kSoonMs = 5000, kBytes = 100000 };
static uint64_t state;
static volatile double entered_ms;  // 0: outside a call

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static uint32_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

/// Kills this process after a random time; the lowest rank lives.
static void* kill_later(void* unused) {
  const struct timespec pause = {0, (long)(draw() % 400) * 1000000 + draw() % 1000000};
  nanosleep(&pause, NULL);
  raise(SIGKILL);
  return unused;
}

static int allowed(int code) {
  const int found = class_of(code);
  return found == MPI_SUCCESS || found == MPIX_ERR_PROC_FAILED || found == MPIX_ERR_REVOKED ||
         found == MPIX_ERR_PROC_FAILED_PENDING;
}

#define SOON(call)                                                      \
  do {                                                                  \
    const double since_ = now_ms();                                     \
    const int code_ = (call);                                           \
    const double took_ = now_ms() - since_;                             \
    if (!allowed(code_)) FAIL("%s gives %s", #call, error_text(code_)); \
    if (took_ > kSoonMs) FAIL("%s took %.0f ms", #call, took_);         \
    if (code_ != MPI_SUCCESS) failed = 1;                               \
  } while (0)

/// All living members have the same value.
static void same(MPI_Comm comm, int value, const char* what) {
  int both[2] = {value, -value}, least[2];
  if (MPI_Allreduce(both, least, 2, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) return;
  if (least[0] != -least[1]) FAIL("%s differs: %d, least %d", what, value, least[0]);
}

static int round_of(MPI_Comm comm, int* sequence) {
  int failed = 0, me, members, flag, value = 1, sum;
  static char out[kBytes], in[kBytes];
  MPI_Request request[2];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  SOON(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
  SOON(MPI_Sendrecv(out, kBytes, MPI_CHAR, (me + 1) % members, 1, in, kBytes, MPI_CHAR,
                    (me + members - 1) % members, 1, comm, MPI_STATUS_IGNORE));
  SOON(MPI_Bcast(in, kBytes, MPI_CHAR, members - 1, comm));
  SOON(MPI_Ibarrier(comm, &request[0]));
  SOON(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
  flag = ~(1 << me % 31);
  int asked = ++*sequence;
  MPI_Request agreed;
  SOON(MPIX_Comm_iagree(comm, &asked, &agreed));
  SOON(MPI_Wait(&agreed, MPI_STATUS_IGNORE));
  failed = failed != 0;
  flag = failed ? 0 : 1;
  const int code = MPIX_Comm_agree(comm, &flag);
  CHECK(allowed(code));
  return flag == 0 || code != MPI_SUCCESS;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  state = (uint64_t)atoi(argv[1]) * 7919 + (uint64_t)rank * 104729 + 1;
  for (int i = 0; i < 10; ++i) (void)draw();
  MPI_Comm comm, left;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  pthread_t killer;
  if (rank != 0) CHECK(pthread_create(&killer, NULL, kill_later, NULL) == 0);
  int members = size, rounds = 0, sequence = 0;
  while (members > 1) {
    ++rounds;
    if (!round_of(comm, &sequence)) continue;
    if (draw() % 2 == 0) OK(MPIX_Comm_revoke(comm));
    const double since = now_ms();
    OK(MPIX_Comm_shrink(comm, &left));
    CHECK(now_ms() - since < kSoonMs);
    OK(MPI_Comm_free(&comm));
    comm = left;
    OK(MPI_Comm_size(comm, &members));
    same(comm, members, "the size after a shrink");
    same(comm, rounds, "the number of rounds");
  }
  printf("%d deaths in %d rounds\n", size - 1, rounds);
  OK(MPI_Comm_free(&comm));
  MPI_Finalize();
  return 0;
}
