// SPDX-License-Identifier: Apache-2.0
// First uses of a row, or of a datatype with many holes, do not wait, even on a single hardware
// queue. Rank 0 enqueues first calls and sends a message; the other ranks enqueue after the
// message. A capture records first uses.
// ranks: 2 3
// configurations: 4-peers
// env: SOFTCUDA_CONNECTIONS=1
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=simple
// timeout: 60
// variant: queues
//   queues: many, the message waits behind a waiting kernel of the only queue
//   env: TERN_GPU_ENGINE=kernel
//   env: TERN_GPU_WIRE=simple
//   args: device
#include <vector>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 4001;

void check(int got, int expected, const char* what, int i) {
  if (got != expected) FAIL("%s: element %d is %d, expected %d", what, i, got, expected);
}

MPI_Datatype with_holes(int count, int seed) {
  std::vector<int> places;
  for (int i = 0, at = 0; i < count; ++i, at += 1 + (i * seed) % 3) places.push_back(at);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_indexed_block(count, 1, places.data(), MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

struct Data {
  Vector<int> mine{kCount}, sum{kCount}, root{kCount};
  Vector<int> all{static_cast<size_t>(kCount) * size}, turned{static_cast<size_t>(kCount) * size};
  Vector<int> holes{static_cast<size_t>(kCount) * 3};
  void put(CUstream queue) {
    for (int i = 0; i < kCount; ++i) mine[static_cast<size_t>(i)] = rank * 1000 + i % 997;
    for (int i = 0; i < kCount * 3; ++i) holes[static_cast<size_t>(i)] = rank == 0 ? i : -1;
    mine.put(queue);
    holes.put(queue);
  }
  void enqueue(MPI_Comm comm) const {
    OK(MPIX_Allreduce_enqueue(mine.on_device(), sum.on_device(), kCount, MPI_INT, MPI_SUM, comm));
    OK(MPIX_Allgather_enqueue(mine.on_device(), kCount, MPI_INT, all.on_device(), kCount, MPI_INT,
                              comm));
    OK(MPIX_Alltoall_enqueue(all.on_device(), kCount, MPI_INT, turned.on_device(), kCount, MPI_INT,
                             comm));
    OK(MPIX_Reduce_enqueue(mine.on_device(), root.on_device(), kCount, MPI_INT, MPI_MAX, size - 1,
                           comm));
    OK(MPIX_Bcast_enqueue(root.on_device(), kCount, MPI_INT, size - 1, comm));
  }
  void enqueue_typed(MPI_Comm comm, MPI_Datatype* type) const {
    if (*type == MPI_DATATYPE_NULL) *type = with_holes(kCount, 2);
    OK(MPIX_Bcast_enqueue(holes.on_device(), 1, *type, 0, comm));
  }
  void check_all(CUstream queue) {
    sum.get(queue), all.get(queue), turned.get(queue), root.get(queue), holes.get(queue);
    CU(cuStreamSynchronize(queue));
    for (int i = 0; i < kCount; ++i) {
      check(sum[static_cast<size_t>(i)], size * (size - 1) / 2 * 1000 + size * (i % 997), "sum", i);
      check(root[static_cast<size_t>(i)], (size - 1) * 1000 + i % 997, "bcast of the maximum", i);
    }
    for (int i = 0; i < kCount * size; ++i)
      check(turned[static_cast<size_t>(i)], rank * 1000 + i % kCount % 997, "alltoall", i);
  }
  void check_typed() {
    for (int i = 0, at = 0; i < kCount; ++i, at += 1 + i * 2 % 3)
      check(holes[static_cast<size_t>(at)], at, "bcast with holes", i);
  }
};

/// With a hardware queue per stream, Tern's own stream packs the message.
void first_uses(bool by_device) {
  const OnStream on;
  Data data;
  Vector<int> got(static_cast<size_t>(kCount) * 3);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  data.put(on.queue);
  on.sync();
  if (rank != 0) {
    type = with_holes(kCount, 2);
    OK(MPI_Recv(by_device ? got.on_device() : &got[0], 1, type, 0, 7, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
  }
  data.enqueue(on.comm);
  data.enqueue_typed(on.comm, &type);
  for (int to = 1; rank == 0 && to < size; ++to)
    OK(MPI_Send(by_device ? data.holes.on_device() : &data.holes[0], 1, type, to, 7,
                MPI_COMM_WORLD));
  data.check_all(on.queue);
  data.check_typed();
  if (by_device) got.get(on.queue);
  on.sync();
  for (int i = 0, at = 0; rank != 0 && i < kCount; ++i, at += 1 + i * 2 % 3)
    check(got[static_cast<size_t>(at)], at, "a message with holes", i);
  OK(MPI_Type_free(&type));
}

void first_uses_in_graph(MPI_Comm parent) {
  const OnStream on(parent);
  Data data;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  data.enqueue(on.comm);
  data.enqueue_typed(on.comm, &type);
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&made, graph, 0));
  CU(cuGraphDestroy(graph));
  for (int round = 0; round < 4; ++round) {
    data.put(on.queue);
    if (round == 2) {
      data.enqueue(on.comm);
      data.check_all(on.queue);
    }
    CU(cuGraphLaunch(made, on.queue));
    data.check_all(on.queue);
    data.check_typed();
  }
  CU(cuGraphExecDestroy(made));
  OK(MPI_Type_free(&type));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (devices < size) return MPI_Finalize(), 77;
  first_uses(argc > 1);
  MPI_Comm turned = MPI_COMM_NULL;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned));
  OK(MPI_Comm_rank(turned, &rank));
  first_uses_in_graph(turned);
  OK(MPI_Comm_free(&turned));
  OK(MPI_Finalize());
  return 0;
}
