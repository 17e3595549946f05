// SPDX-License-Identifier: Apache-2.0
// Allocations and loads may wait for device work, and the device work for this rank. So the library
// allocates and loads only at the first device pointer.
// ranks: 2
// configurations: 1 4-peers 2-apart
// sanitizers: no
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kBytes = 1 << 20;

const char* const kMakers[] = {
    "cuMemAlloc_v2", "cuMemHostAlloc",    "cuStreamCreateWithPriority", "cuEventCreate",
    "cuMemCreate",   "cuLibraryLoadData", "cuMemHostRegister_v2"};

unsigned long long made() {
  unsigned long long sum = 0;
  for (const char* name : kMakers) sum += control().calls(name);
  return sum;
}

void message(const void* from, void* to, int count, MPI_Datatype type) {
  if (rank == 0)
    OK(MPI_Send(from, count, type, 1, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Recv(to, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void check_nothing_made(unsigned long long before, const char* by) {
  if (made() == before) return;
  for (const char* name : kMakers)
    if (control().calls(name) != 0)
      std::fprintf(stderr, "[rank %d] %s: %llu\n", rank, name, control().calls(name));
  FAIL("%s makes %llu things in the driver", by, made() - before);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (!control().there()) {
    OK(MPI_Finalize());
    return 77;
  }
  {
    const Area device = plain(2 * kBytes), pool = default_pool(kBytes);
    std::vector<char> host(kBytes);
    MPI_Datatype column;
    OK(MPI_Type_vector(kBytes / 64, 16, 32, MPI_FLOAT, &column));
    OK(MPI_Type_commit(&column));
    message(device.address(), device.address(), 8, MPI_BYTE);
    message(pool.address(), pool.address(), 8, MPI_BYTE);  // The pool's pointer lacks
                                                           // SYNC_MEMOPS.
    const unsigned long long before = made();
    message(device.address(), device.address(), kBytes, MPI_BYTE);
    check_nothing_made(before, "a message from device to device");
    message(device.address(), host.data(), kBytes, MPI_BYTE);
    check_nothing_made(before, "a message from device to host");
    message(host.data(), device.address(), kBytes, MPI_BYTE);
    check_nothing_made(before, "a message from host to device");
    message(device.address(), device.address(), 1, column);
    check_nothing_made(before, "a message of columns");
    message(pool.address(), pool.address(), kBytes, MPI_BYTE);
    check_nothing_made(before, "a message from memory that cannot be shared");
    OK(MPI_Type_free(&column));
  }
  return end();
}
