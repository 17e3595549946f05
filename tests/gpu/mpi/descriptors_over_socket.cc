// SPDX-License-Identifier: Apache-2.0
// Descriptors travel over a socket if a process may not take a peer's descriptors (containers). The
// first message goes through the host; later messages need one copy. Rank 0 selects the socket
// (cuda_ipc_descriptors in TERN_TEST); the system refuses rank 1, like Docker.
// ranks: 2
// configurations: 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "allocators.hpp"
#include "settings.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 5 << 20;

void refuse_pidfd_getfd() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof steps / sizeof steps[0], steps};
  CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

long long mapped_now() { return control().live("mappings") + control().live("imports"); }

void message(const Area& area, int from, const char* what, long long pieces) {
  static unsigned seed = 0;
  const auto want = bytes_of(kBytes, ++seed);
  if (rank == from) {
    area.put(want);
    CU(cuCtxSynchronize());  // pending writes would be packed
    OK(MPI_Send(area.address(), kBytes, MPI_BYTE, 1 - from, 0, MPI_COMM_WORLD));
    return;
  }
  const auto before = control().there() ? mapped_now() : 0;
  OK(MPI_Recv(area.address(), kBytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (area.get(kBytes) != want) FAIL("%s: other bytes have arrived", what);
  if (control().there() && mapped_now() - before != pieces)
    FAIL("%s: %lld mappings more, expected %lld", what, mapped_now() - before, pieces);
}

unsigned long long pointers() {
  return control().there() ? control().calls("cuMemPoolImportPointer") : 0;
}

void at_once() {
  for (unsigned i = 0; i < 4; ++i) {
    const Area in = mapped(kBytes, 3, kFd, kFd), out = mapped(kBytes, 3, kFd, kFd);
    out.put(bytes_of(kBytes, i + static_cast<unsigned>(rank)));
    CU(cuCtxSynchronize());
    OK(MPI_Sendrecv(out.address(), kBytes, MPI_BYTE, 1 - rank, 0, in.address(), kBytes, MPI_BYTE,
                    1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (in.get(kBytes) != bytes_of(kBytes, i + static_cast<unsigned>(1 - rank)))
      FAIL("messages in both directions: other bytes have arrived");
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const own_rank = std::getenv("PMIX_RANK");
  if (own_rank == nullptr) return 1;
  if (std::atoi(own_rank) == 0) set_for_test("cuda_ipc_descriptors", "socket");
  if (std::atoi(own_rank) == 1) refuse_pidfd_getfd();
  begin(&argc, &argv);
  start_cuda();
  const auto before = alive();
  settle_contexts();
  for (const int from : {0, 1}) {
    const Area first = mapped(kBytes, 1, kFd, kFd), second = mapped(kBytes, 3, kFd, kFd),
               pooled = exportable_pool(kBytes);
    message(first, from, "the first message", 0);
    message(first, from, "the second", 1);
    message(second, from, "other memory", 3);
    message(second, from, "it again", 0);
    const auto imported = pointers();
    message(pooled, from, "a pool's memory", 0);
    if (control().there() && rank != from) CHECK_EQ(pointers() - imported, 1u);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  at_once();
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}
