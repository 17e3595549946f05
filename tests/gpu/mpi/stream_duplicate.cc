// SPDX-License-Identifier: Apache-2.0
// Collectives on a stream communicator's first duplicate: beside the parent's calls, in concurrent
// graphs, and after the parent's end. MPI_Comm_dup waits for no rank. The host serves further
// duplicates.
// ranks: 2 3
// configurations: 4-peers
// queues: many, ranks launch graphs in opposite orders, and one queue has one order
// env: TERN_EXPLAIN=1
// timeout: 60
// variant: kernels
//   env: TERN_EXPLAIN=1
//   env: TERN_GPU_ENGINE=kernel
//   env: SOFTCUDA_PROCESSORS=16
//   env: TERN_GPU_WIRE=simple
// variant: streams
//   env: TERN_EXPLAIN=1
//   env: TERN_GPU_ENGINE=stream
#include <memory>
#include <string>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

void fill(Vector<int>& data, size_t ints, int salt) {
  for (size_t i = 0; i < ints; ++i) data[i] = rank * 1000 + salt + static_cast<int>(i % 997);
}

void check(Vector<int>& data, size_t ints, int salt) {
  for (size_t i = 0; i < ints; ++i)
    CHECK_EQ(data[i], size * (size - 1) / 2 * 1000 + size * (salt + static_cast<int>(i % 997)));
}

void sum(const Vector<int>& data, size_t ints, MPI_Comm comm) {
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(ints), MPI_INT,
                            MPI_SUM, comm));
}

void in_turn(const OnStream& on, MPI_Comm twin) {
  for (const size_t ints : {size_t{1}, size_t{1000}, size_t{40000}, size_t{900000}}) {
    Vector<int> one(ints), other(ints);
    for (int round = 0; round < 4; ++round) {
      fill(one, ints, round);
      fill(other, ints, round + 7);
      one.put(on.queue);
      other.put(on.queue);
      sum(one, ints, on.comm);
      sum(other, ints, twin);
      one.get(on.queue);
      other.get(on.queue);
      on.sync();
      check(one, ints, round);
      check(other, ints, round + 7);
    }
  }
}

class Graph {
 public:
  Graph(const OnStream& on, const Vector<int>& data, size_t ints, MPI_Comm comm) {
    CUgraph graph = nullptr;
    CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    sum(data, ints, comm);
    CU(cuStreamEndCapture(on.queue, &graph));
    CU(cuGraphInstantiateWithFlags(&exec_, graph, 0));
    CU(cuGraphDestroy(graph));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { CU(cuGraphExecDestroy(exec_)); }
  void launch(CUstream queue) const { CU(cuGraphLaunch(exec_, queue)); }

 private:
  CUgraphExec exec_ = nullptr;
};

void graphs_at_once(const OnStream& on, MPI_Comm twin) {
  constexpr size_t kInts = 5000;
  CUstream queues[2] = {};
  for (CUstream& queue : queues) CU(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
  {
    Vector<int> one(kInts), other(kInts);
    const Graph first(on, one, kInts, on.comm), second(on, other, kInts, twin);
    for (int round = 0; round < 10; ++round) {
      fill(one, kInts, round);
      fill(other, kInts, round + 3);
      one.put(queues[0]);
      other.put(queues[1]);
      if (rank % 2 == 0) first.launch(queues[0]);
      second.launch(queues[1]);
      if (rank % 2 == 1) first.launch(queues[0]);
      one.get(queues[0]);
      other.get(queues[1]);
      for (CUstream queue : queues) CU(cuStreamSynchronize(queue));
      check(one, kInts, round);
      check(other, kInts, round + 3);
    }
  }
  for (CUstream queue : queues) CU(cuStreamDestroy_v2(queue));
}

MPI_Comm duplicate_at_work(const OnStream& on) {
  Vector<int> data(1000);
  MPI_Comm twin = MPI_COMM_NULL;
  fill(data, 1000, 5);
  data.put(on.queue);
  int word = 0;
  if (rank != 0) OK(MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  sum(data, 1000, on.comm);
  OK(MPI_Comm_dup(on.comm, &twin));
  for (int other = 1; rank == 0 && other < size; ++other)
    OK(MPI_Send(&word, 1, MPI_INT, other, 9, MPI_COMM_WORLD));
  data.get(on.queue);
  on.sync();
  check(data, 1000, 5);
  return twin;
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    auto on = std::make_unique<OnStream>();
    MPI_Comm twin = MPI_COMM_NULL, third = MPI_COMM_NULL;
    std::string said;
    {
      const Heard heard;
      twin = duplicate_at_work(*on);
      in_turn(*on, twin);
      said = heard.text();
    }
    if (rank == 0 && control().there() &&
        (said.find("enqueued collectives run between the devices") == said.npos ||
         said.find("for execution by the host") != said.npos))
      FAIL("expected device execution: %s", said.c_str());
    OK(MPI_Comm_dup(on->comm, &third));
    in_turn(*on, third);
    graphs_at_once(*on, twin);
    in_turn(*on, twin);
    OK(MPI_Comm_free(&third));
    OK(MPI_Comm_free(&on->comm));
    check_allreduce(on->queue, twin, 3000);
    OK(MPI_Comm_free(&twin));
  }
  return end();
}
