// SPDX-License-Identifier: Apache-2.0
// Other memory takes a freed buffer's address between two messages: no message delivers stale data.
// Tern closes all peer mappings.
// ranks: 2
// env: TERN_TEST=cuda_ipc_cache=4M
#include <unistd.h>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 1 << 20;

void send_and_compare(const Area& mine, unsigned seed) {
  if (rank == 0) {
    mine.put(bytes_of(kBytes, seed));
    OK(MPI_Send(mine.address(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Recv(mine.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (mine.get(kBytes) != bytes_of(kBytes, seed)) FAIL("message %u is stale", seed);
}

void reused(const Allocator& by) {
  for (unsigned round = 0; round < 12; ++round) {
    const Area mine = by.make(kBytes + round % 3 * 4096);
    send_and_compare(mine, round);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void reused_by_another() {
  for (unsigned round = 0; round < 3; ++round)
    for (const Allocator& by : kAllocators) {
      const Area mine = by.make(kBytes);
      send_and_compare(mine, round + 20);
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

void bounded() {
  std::vector<Area> many;
  for (int i = 0; i < 24; ++i) many.push_back(plain(kBytes));
  for (unsigned round = 0; round < 3; ++round)
    for (const Area& one : many) send_and_compare(one, round);
  for (int i = 0; i < 1000 && control().there() && control().live("imports") > 5; ++i) usleep(5000);
  if (control().there() && control().live("imports") > 5)
    FAIL("%lld mappings of the peer's memory are alive with cuda_ipc_cache=4M",
         control().live("imports"));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const auto before = alive();
  for (const Allocator& by : kAllocators) reused(by);
  reused_by_another();
  bounded();
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}
