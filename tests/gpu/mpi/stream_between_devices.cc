// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives between linked devices: the host takes no part, a graph outlives its
// communicator, and the report names a late rank after the timeout.
// ranks: 2 3 4
// configurations: 4-peers
// env: TERN_TEST=gpu_multicast=off
#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

int sum_of(int i) {
  int sum = 0;
  for (int of = 0; of < size; ++of) sum += of * 1000 + i;
  return sum;
}

void check_sums(Vector<int>& recv, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    if (recv[static_cast<size_t>(i)] != sum_of(i % 997))
      FAIL("%s: element %d is %d, expected %d", what, i, recv[static_cast<size_t>(i)],
           sum_of(i % 997));
}

void fill(Vector<int>& send, int count) {
  for (int i = 0; i < count; ++i) send[static_cast<size_t>(i)] = rank * 1000 + i % 997;
}

void without_the_host(const OnStream& on) {
  constexpr int kCount = 300007;
  Vector<int> send(kCount), recv(kCount);
  fill(send, kCount);
  send.put(on.queue);
  const auto batches = control().calls("cuStreamBatchMemOp_v2");
  const auto launches = control().calls("cuLaunchKernel");
  OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  if (control().there() && control().calls("cuStreamBatchMemOp_v2") < batches + 4 &&
      control().calls("cuLaunchKernel") == launches)
    FAIL("an allreduce is not done between the devices");
  recv.get(on.queue);
  on.sync();
  check_sums(recv, kCount, "allreduce");
}

/// Some kernels cannot reach pageable memory.
void of_the_host(const OnStream& on) {
  constexpr int kCount = 4001;
  std::vector<int> send(kCount), recv(kCount, -1);
  for (int i = 0; i < kCount; ++i) send[static_cast<size_t>(i)] = rank * 1000 + i % 997;
  Vector<int> back(kCount);
  OK(MPIX_Allreduce_enqueue(send.data(), back.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  back.get(on.queue);
  Vector<int> there(kCount);
  fill(there, kCount);
  there.put(on.queue);
  OK(MPIX_Allreduce_enqueue(there.on_device(), recv.data(), kCount, MPI_INT, MPI_SUM, on.comm));
  on.sync();
  check_sums(back, kCount, "allreduce from the host");
  for (int i = 0; i < kCount; ++i)
    if (recv[static_cast<size_t>(i)] != sum_of(i % 997))
      FAIL("allreduce to the host: element %d is %d", i, recv[static_cast<size_t>(i)]);
}

CUgraphExec graph_of(const OnStream& on, Vector<int>& send, Vector<int>& recv, int count) {
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  send.put(on.queue);
  OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), count, MPI_INT, MPI_SUM, on.comm));
  recv.get(on.queue);
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&made, graph, 0));
  CU(cuGraphDestroy(graph));
  return made;
}

void graph_outlives_communicator() {
  constexpr int kCount = 10001;
  OnStream on;
  Vector<int> send(kCount), recv(kCount);
  CUgraphExec graph = graph_of(on, send, recv, kCount);
  OK(MPI_Comm_free(&on.comm));
  OnStream next;
  for (int round = 0; round < 20; ++round) {
    fill(send, kCount);
    CU(cuGraphLaunch(graph, on.queue));
    if (round % 3 == 0) without_the_host(next);
    on.sync();
    check_sums(recv, kCount, "a replay");
  }
  CU(cuGraphExecDestroy(graph));
}

/// Successive and concurrent communicators reuse scratch.
void many_communicators() {
  const long long before = control().there() ? control().live("bytes") : 0;
  for (int round = 0; round < 12; ++round) {
    const OnStream on;
    without_the_host(on);
  }
  const long long after = control().there() ? control().live("bytes") : 0;
  constexpr long long kMost = 3LL * (32 << 20);
  if (after - before > kMost) FAIL("12 communicators keep %lld bytes", after - before);
  const OnStream one, other;
  without_the_host(other);
  without_the_host(one);
}

void late_rank(const Heard& heard) {
  const OnStream on;
  constexpr int kCount = 50;
  Vector<int> send(kCount), recv(kCount);
  fill(send, kCount);
  send.put(on.queue);
  const bool late = rank == size - 1;
  if (late) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  recv.get(on.queue);
  if (rank == 0 && (!heard.will_have("has waited for 1 s", 20) || !heard.has("allreduce")))
    FAIL("the late rank is not reported");
  if (!late) OK(MPI_Barrier(MPI_COMM_WORLD));
  on.sync();
  check_sums(recv, kCount, "a late allreduce");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TERN_GPU_TIMEOUT", "1", 1);
  begin(&argc, &argv);
  start_cuda();
  if (devices < size) return MPI_Finalize(), 77;
  {
    const OnStream on;
    without_the_host(on);
    of_the_host(on);
  }
  graph_outlives_communicator();
  many_communicators();
  {
    const Heard heard;
    late_rank(heard);
  }
  OK(MPI_Finalize());
  return 0;
}
