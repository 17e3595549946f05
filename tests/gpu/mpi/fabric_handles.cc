// SPDX-License-Identifier: Apache-2.0
// Memory travels by fabric handle; if the import fails (rank 1), by descriptor or through the host.
// ranks: 2
// configurations: fabric
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr auto kFabric = CU_MEM_HANDLE_TYPE_FABRIC;
constexpr auto kBoth = static_cast<CUmemAllocationHandleType>(kFabric | kFd);
constexpr size_t kBytes = 5 << 20;

struct Cost {
  long long mappings;
  unsigned long long tries;
};

void message(const Area& area, int from, const char* what, Cost want) {
  static unsigned seed = 0;
  const auto data = bytes_of(kBytes, ++seed);
  if (rank == from) {
    area.put(data);
    CU(cuCtxSynchronize());  // pending writes would be packed
    OK(MPI_Send(area.address(), kBytes, MPI_BYTE, 1 - from, 0, MPI_COMM_WORLD));
    return;
  }
  const auto mappings = control().live("mappings");
  const auto tries = control().calls("cuMemImportFromShareableHandle");
  OK(MPI_Recv(area.address(), kBytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (area.get(kBytes) != data) FAIL("%s: other bytes have arrived", what);
  if (control().live("mappings") - mappings != want.mappings ||
      control().calls("cuMemImportFromShareableHandle") - tries != want.tries)
    FAIL("%s: %lld mappings more after %llu tries, expected %lld after %llu", what,
         control().live("mappings") - mappings,
         control().calls("cuMemImportFromShareableHandle") - tries, want.mappings, want.tries);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const own_rank = std::getenv("PMIX_RANK");
  if (own_rank != nullptr && std::atoi(own_rank) == 1) setenv("SOFTCUDA_FABRIC", "export", 1);
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;  // a real GPU may lack a fabric channel
  start_cuda();
  const auto before = alive();
  settle_contexts();
  {
    const Area fabric = mapped(kBytes, 2, kFabric, kFabric), both = mapped(kBytes, 2, kBoth, kBoth),
               mixed = mapped(kBytes, 2, kFabric, kFd);
    message(fabric, 1, "a fabric handle", {2, 2});
    message(both, 1, "a fabric handle or a descriptor", {2, 2});
    message(mixed, 1, "a fabric handle beside a descriptor", {2, 2});
    message(fabric, 0, "a fabric handle that cannot be imported", {0, 1});
    message(fabric, 0, "the same again", {0, 0});
    message(both, 0, "a descriptor instead", {2, 2});
    message(mixed, 0, "half of it by descriptor", {0, 0});
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}
