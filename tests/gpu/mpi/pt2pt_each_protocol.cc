// SPDX-License-Identifier: Apache-2.0
// Device memory to device memory, at sizes of every protocol; rank i uses device i.
// ranks: 2 4
// configurations: 1 4-peers 2-apart jitter mps mig queue weak
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/softcuda/user_functions.hpp"

namespace {

void check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "line %d: CUDA error %d\n", line, result);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CU(call) check(call, __LINE__)

void exchange(CUdeviceptr mine, CUdeviceptr others, size_t bytes, int rank, int size) {
  const std::vector<unsigned char> sent(bytes, static_cast<unsigned char>(rank + 1));
  std::vector<unsigned char> got(bytes);
  CU(cuMemcpyHtoD_v2(mine, sent.data(), bytes));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Sendrecv(reinterpret_cast<void*>(mine), static_cast<int>(bytes), MPI_BYTE, to, 1,
               reinterpret_cast<void*>(others), static_cast<int>(bytes), MPI_BYTE, from, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CU(cuMemcpyDtoH_v2(got.data(), others, bytes));
  for (size_t i = 0; i < bytes; ++i)
    if (got[i] != from + 1) {
      std::fprintf(stderr, "byte %zu of %zu is %d, not %d\n", i, bytes, got[i], from + 1);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, count;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CU(cuInit(0));
  CU(cuDeviceGetCount(&count));
  CUcontext context;
  CU(cuDevicePrimaryCtxRetain(&context, rank % count));
  CU(cuCtxSetCurrent(context));
  constexpr size_t kMost = 3 << 20;
  CUdeviceptr mine, others;
  CU(cuMemAlloc_v2(&mine, kMost));
  CU(cuMemAlloc_v2(&others, kMost));
  for (size_t bytes = 1; bytes <= kMost; bytes = bytes * 5 + 1)
    exchange(mine, others, bytes, rank, size);
  exchange(mine, others, kMost, rank, size);
  CU(cuMemFree_v2(mine));
  CU(cuMemFree_v2(others));
  MPI_Finalize();
}
