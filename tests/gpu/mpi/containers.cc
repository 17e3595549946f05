// SPDX-License-Identifier: Apache-2.0
// Ranks in containers of one machine, each process 1 of a PID namespace with a private /proc. The
// ranks count as separate hosts with a shared device, and no rank mistakes a peer's address for a
// local address. Descriptors travel over a socket, so memory with a descriptor is mapped.
// ranks: singleton
// configurations: 1 4-peers fabric
// sanitizers: no, its processes are forked
// timeout: 120
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>

#include "allocators.hpp"
#include "tests/mpi/boot_files.h"

using namespace tern::test;

namespace {

constexpr size_t kSizes[] = {8, 100000, 3 << 20};
MPI_Comm both = MPI_COMM_NULL;

unsigned long long imported() { return control().calls("cuMemImportFromShareableHandle"); }

void exchange(const Allocator& by, size_t bytes, unsigned seed) {
  const Area out = by.make(bytes), in = by.make(bytes);
  out.put(bytes_of(bytes, seed + static_cast<unsigned>(rank)));
  in.put(std::vector<uint8_t>(bytes, 0xee));
  const int count = static_cast<int>(bytes);
  OK(MPI_Sendrecv(out.address(), count, MPI_BYTE, 1 - rank, 3, in.address(), count, MPI_BYTE,
                  1 - rank, 3, both, MPI_STATUS_IGNORE));
  if (in.get(bytes) != bytes_of(bytes, seed + static_cast<unsigned>(1 - rank)))
    FAIL("%s: %zu bytes are wrong", by.name, bytes);
}

void collective() {
  constexpr int kCount = 300007;
  std::vector<int> values(kCount, rank + 1);
  const Area data = plain(kCount * sizeof(int));
  data.put(values.data(), kCount * sizeof(int));
  OK(MPI_Allreduce(MPI_IN_PLACE, data.address(), kCount, MPI_INT, MPI_SUM, both));
  data.get(values.data(), kCount * sizeof(int));
  for (const int value : values) CHECK_EQ(value, 3);
}

/// The first message requests the descriptor, later messages find the mapping.
void is_mapped() {
  const Allocator by{"cuMemCreate", [](size_t bytes) { return mapped(bytes, 1, kFd, kFd); }};
  const Area out = by.make(3 << 20), in = by.make(3 << 20);
  const unsigned long long before = control().there() ? imported() : 0;
  for (unsigned round = 0; round < 4; ++round) {
    out.put(bytes_of(3 << 20, round));
    OK(MPI_Sendrecv(out.address(), 3 << 20, MPI_BYTE, 1 - rank, 4, in.address(), 3 << 20, MPI_BYTE,
                    1 - rank, 4, both, MPI_STATUS_IGNORE));
    if (in.get(3 << 20) != bytes_of(3 << 20, round)) FAIL("round %u is wrong", round);
  }
  OK(MPI_Barrier(both));
  if (control().there() && imported() == before) FAIL("%s", "nothing was mapped");
}

void in_container(int me, int members) {
  CHECK_EQ(getpid(), 1);
  rank = me;
  size = members;
  files_boot(me, members, "containers");
  MPI_Session session;
  OK(MPIX_Boot_provide(&files));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  both = comm_of(session);
  start_cuda();
  unsigned seed = 0;
  for (const Allocator& by : kAllocators)
    for (const size_t bytes : kSizes) exchange(by, bytes, seed += 10);
  collective();
  is_mapped();
  OK(MPI_Comm_free(&both));
  OK(MPI_Session_finalize(&session));
}

void contain(int me, int members) {
  CHECK(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0);
  CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  const pid_t first = fork();
  if (first == 0) {
    CHECK(mount("proc", "/proc", "proc", 0, nullptr) == 0);
    in_container(me, members);
    exit(0);
  }
  int status = 0;
  CHECK(waitpid(first, &status, 0) == first);
  exit(status == 0 ? 0 : 1);
}

// A container may refuse each system call, and a chroot's root is no mount.
void can_contain(int, int) {
  if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(1);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(1);
  const pid_t first = fork();
  if (first == 0) _exit(mount("proc", "/proc", "proc", 0, nullptr) == 0 ? 0 : 1);
  int status = 0;
  _exit(waitpid(first, &status, 0) == first && status == 0 ? 0 : 1);
}
void has_network(int, int) {
  const bool any =
      dlopen("libucp.so.0", RTLD_LAZY) != nullptr || dlopen("libfabric.so.1", RTLD_LAZY) != nullptr;
  _exit(any ? 0 : 1);
}
bool succeeds(void (*body)(int, int)) {
  int status = 0;
  fork_ranks(1, body, &status);
  return status == 0;
}

}  // namespace

int main() {
  if (!succeeds(can_contain)) {
    std::puts("no namespaces here: they need root, and a root folder that is a mount");
    return 77;
  }
  if (!succeeds(has_network)) {
    std::puts("neither UCX nor libfabric is installed");
    return 77;
  }
  make_directory();
  run_ranks(2, contain);
  remove_directory();
  return 0;
}
