// SPDX-License-Identifier: Apache-2.0
// Streams of a green context with a quarter of the multiprocessors, and of the whole device. The
// waiting kernels of three communicators share a single multiprocessor.
// ranks: 2 4
// configurations: 4-peers
// queues: many, ranks enqueue in opposite orders, and one queue has one order
// env: SOFTCUDA_PROCESSORS=4
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=simple
// env: TERN_GPU_SCRATCH=1048576
// timeout: 60
#include <utility>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kInts = 20000;

class Green {
 public:
  Green() {
    CUdevice device = 0;
    CUdevResource all{}, rest{};
    unsigned groups = kGroups;
    CU(cuCtxGetDevice(&device));
    CU(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU(cuDevSmResourceSplitByCount(parts_, &groups, &all, &rest, 0, 1));
    CUdevResourceDesc described = nullptr;
    CU(cuDevResourceGenerateDesc(&described, &parts_[0], 1));
    CU(cuGreenCtxCreate(&context, described, device, CU_GREEN_CTX_DEFAULT_STREAM));
    for (CUstream& queue : queues)
      CU(cuGreenCtxStreamCreate(&queue, context, CU_STREAM_NON_BLOCKING, 0));
  }
  Green(const Green&) = delete;
  Green& operator=(const Green&) = delete;
  ~Green() {
    for (CUstream queue : queues) CU(cuStreamDestroy_v2(queue));
    CU(cuGreenCtxDestroy(context));
  }
  CUgreenCtx context = nullptr;
  CUstream queues[2] = {};

 private:
  static constexpr unsigned kGroups = 1;
  CUdevResource parts_[kGroups] = {};
};

void enqueue(Vector<int>& data, CUstream queue, MPI_Comm comm) {
  for (int i = 0; i < kInts; ++i) data[static_cast<size_t>(i)] = rank + i % 997;
  data.put(queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), kInts, MPI_INT, MPI_SUM, comm));
  data.get(queue);
}

void check(Vector<int>& data, CUstream queue) {
  CU(cuStreamSynchronize(queue));
  for (int i = 0; i < kInts; ++i)
    CHECK_EQ(data[static_cast<size_t>(i)], size * (size - 1) / 2 + size * (i % 997));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Green green;
    const OnStream first(MPI_COMM_WORLD, green.queues[0]), second(MPI_COMM_WORLD, green.queues[1]);
    const OnStream whole;
    const OnStream* in_order[] = {&first, &whole, &second};
    if (rank % 2 == 1) std::swap(in_order[0], in_order[2]);
    Vector<int> data[] = {Vector<int>(kInts), Vector<int>(kInts), Vector<int>(kInts)};
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 3; ++i) enqueue(data[i], in_order[i]->queue, in_order[i]->comm);
      for (int i = 0; i < 3; ++i) check(data[i], in_order[i]->queue);
    }
  }
  return end();
}
