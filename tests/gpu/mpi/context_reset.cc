// SPDX-License-Identifier: Apache-2.0
// Messages and reductions still work after the program resets the device (cudaDeviceReset).
// ranks: 2
// configurations: 1 2-apart 4-peers
#include "allocators.hpp"

using namespace tern::test;

namespace {

void exchange(unsigned seed) {
  for (const size_t bytes : {size_t{100}, size_t{100000}, size_t{2 << 20}}) {
    const Area from = plain(bytes), to = plain(bytes);
    const int count = static_cast<int>(bytes);
    from.put(bytes_of(bytes, seed + static_cast<unsigned>(rank)));
    OK(MPI_Sendrecv(from.address(), count, MPI_BYTE, 1 - rank, 0, to.address(), count, MPI_BYTE,
                    1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(to.get(bytes) == bytes_of(bytes, seed + static_cast<unsigned>(1 - rank)));
    std::vector<uint8_t> sum(bytes), mine = from.get(bytes), other = to.get(bytes);
    for (size_t i = 0; i < bytes; ++i) sum[i] = static_cast<uint8_t>(mine[i] + other[i]);
    OK(MPI_Allreduce(MPI_IN_PLACE, from.address(), count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD));
    CHECK(from.get(bytes) == sum);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void reset() {
  CU(cuDevicePrimaryCtxReset_v2(rank % devices));
  CU(cuDevicePrimaryCtxRetain(&contexts[rank % devices], rank % devices));
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (unsigned round = 0; round < 4; ++round) {
    exchange(round * 10);
    if (round % 2 == 0 || rank == 0)
      reset();
    else
      OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  reset();
  return end();
}
