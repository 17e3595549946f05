// SPDX-License-Identifier: Apache-2.0
// Peers and the owner release freed memory after a message: a device with room for eight buffers
// sends forty.
// ranks: 2
// configurations: 1 4-peers
// full-configurations: 12.0
// env: SOFTCUDA_MEMORY=64M
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kBytes = 8 << 20;

CUdeviceptr take_by_mpi() {
  MPI_Info info;
  void* memory = nullptr;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device"));
  OK(MPI_Alloc_mem(kBytes, info, &memory));
  OK(MPI_Info_free(&info));
  return reinterpret_cast<CUdeviceptr>(memory);
}

CUdeviceptr take(bool by_mpi) {
  if (by_mpi) return take_by_mpi();
  CUdeviceptr made = 0;
  CU(cuMemAlloc_v2(&made, kBytes));
  return made;
}

void send_and_free(bool by_mpi, const Area& into) {
  if (rank == 1) {
    OK(MPI_Recv(into.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  const CUdeviceptr memory = take(by_mpi);
  CU(cuMemsetD8_v2(memory, 1, kBytes));
  CU(cuCtxSynchronize());
  OK(MPI_Send(reinterpret_cast<void*>(memory), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  if (by_mpi)
    OK(MPI_Free_mem(reinterpret_cast<void*>(memory)));
  else
    CU(cuMemFree_v2(memory));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area into = plain(kBytes);
    for (const bool by_mpi : {false, true})
      for (int i = 0; i < 20; ++i) send_and_free(by_mpi, into);
  }
  return end();
}
