// SPDX-License-Identifier: Apache-2.0
// Each rank sees only its own device, or all in another order (CUDA_VISIBLE_DEVICES). Tern
// identifies devices by UUID.
// ranks: 2 4
// configurations: 1 4-peers 2-apart jitter in-turn
#include "allocators.hpp"

using namespace tern::test;

namespace {

void choose(const char* own_rank) {
  const char* const there = std::getenv("SOFTCUDA_DEVICES");
  if (there == nullptr) return;
  const int count = std::atoi(there), own = std::atoi(own_rank);
  std::string shown = std::to_string(own % count);
  if (own >= 2)
    for (int i = 1; i < count; ++i) shown += "," + std::to_string((own + count - i) % count);
  setenv("CUDA_VISIBLE_DEVICES", shown.c_str(), 1);
}

void between_all(size_t bytes) {
  const int count = static_cast<int>(bytes);
  for (int hop = 1; hop < size; ++hop) {
    const int to = (rank + hop) % size, from = (rank + size - hop) % size;
    const Area in = plain(bytes), out = plain(bytes);
    in.put(bytes_of(bytes, static_cast<unsigned>(rank)));
    OK(MPI_Sendrecv(in.address(), count, MPI_BYTE, to, 0, out.address(), count, MPI_BYTE, from, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (out.get(bytes) != bytes_of(bytes, static_cast<unsigned>(from)))
      FAIL("%d bytes from rank %d are wrong", count, from);
  }
  const Area in = plain(bytes), out = plain(bytes * static_cast<size_t>(size));
  in.put(bytes_of(bytes, static_cast<unsigned>(rank)));
  OK(MPI_Allgather(in.address(), count, MPI_BYTE, out.address(), count, MPI_BYTE, MPI_COMM_WORLD));
  for (int from = 0; from < size; ++from)
    CHECK(out.get(bytes, bytes * static_cast<size_t>(from)) ==
          bytes_of(bytes, static_cast<unsigned>(from)));
}

}  // namespace

int main(int argc, char** argv) {
  const char* const own_rank = std::getenv("PMIX_RANK");
  if (own_rank == nullptr) return 1;
  choose(own_rank);
  begin(&argc, &argv);
  CHECK_EQ(std::atoi(own_rank), rank);
  start_cuda();
  rank = std::atoi(own_rank);
  CU(cuCtxSetCurrent(contexts[0]));
  for (const size_t bytes : {size_t{24}, size_t{20000}, size_t{2 << 20}}) between_all(bytes);
  return end();
}
