// SPDX-License-Identifier: Apache-2.0
// MPI_Free_mem closes the descriptor of sent memory at once, not at a later message.
// ranks: 2
// configurations: 1 4-peers
#include <unistd.h>

#include <filesystem>
#include <string>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kBytes = 1 << 20;

int descriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.rfind("/memfd:softcuda", 0) == 0) ++count;
  }
  return count;
}

void* take() {
  MPI_Info info;
  void* memory = nullptr;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device"));
  OK(MPI_Alloc_mem(kBytes, info, &memory));
  OK(MPI_Info_free(&info));
  return memory;
}

void from_new_memory(const Area& into) {
  if (rank == 1) {
    OK(MPI_Recv(into.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  const int before = descriptors();
  void* const memory = take();
  OK(MPI_Send(memory, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  OK(MPI_Free_mem(memory));
  if (descriptors() != before)
    FAIL("%d descriptors of freed memory are held", descriptors() - before);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area into = plain(kBytes);
    // The library creates permanent objects at the first device pointer.
    if (rank == 0)
      OK(MPI_Send(into.address(), 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(into.address(), 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; ++i) from_new_memory(into);
  }
  return end();
}
