// SPDX-License-Identifier: Apache-2.0
// Imports of a peer's large allocations stay mapped: alternating buffers open each import once.
// ranks: 2
// configurations: 4-peers
// env: SOFTCUDA_MEMORY=32G
#include "allocators.hpp"

using namespace tern::test;

namespace {

void message(const Area& from, const Area& to, int bytes) {
  if (rank == 0)
    OK(MPI_Send(from.address(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Recv(to.address(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBytes = 100'000;
  constexpr size_t kAllocation = size_t{3} << 30;
  begin(&argc, &argv);
  start_cuda();
  if (!control().there()) return MPI_Finalize(), 77;  // few real devices have 32 GiB
  {
    std::vector<Area> large;
    const Area in = plain(kBytes), first = plain(kBytes);
    message(first, in, kBytes);
    for (int i = 0; rank == 0 && i < 4; ++i) large.push_back(plain(kAllocation));
    const auto before = control().calls("cuIpcOpenMemHandle_v2");
    for (int round = 0; round < 3; ++round)
      for (size_t i = 0; i < 4; ++i) message(rank == 0 ? large[i] : in, in, kBytes);
    const auto opened = control().calls("cuIpcOpenMemHandle_v2") - before;
    if (rank == 1 && opened > 4) FAIL("4 allocations were opened %llu times", opened);
    if (rank == 1 && opened < 4) FAIL("the allocations were not mapped: %llu times", opened);
  }
  return end();
}
