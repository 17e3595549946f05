// SPDX-License-Identifier: Apache-2.0
// Ranks on two linked pairs of GPUs. One rank never makes a large enqueued call, or never launches
// a graph: the peer's kernel and the other pair's streams time out, and all ranks get an error. An
// argument limits the cases; the test skips two without --full.
// ranks: 4
// configurations: islands
// full-configurations: islands-crossed
// timeout: 90
#include <chrono>
#include <span>
#include <string>
#include <thread>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kAbsent = 1, kCount = 50000;
constexpr double kGivesUp = 2, kMoment = 10;  // seconds

struct Case {
  const char* name;
  int (*enqueue)(int* data, MPI_Comm comm);
  bool by_graph = false;
  bool computes = false;
  bool frees = false;
};
int sum(int* data, MPI_Comm comm) {
  return MPIX_Allreduce_enqueue(MPI_IN_PLACE, data, kCount, MPI_INT, MPI_SUM, comm);
}
int broadcast(int* data, MPI_Comm comm) {
  return MPIX_Bcast_enqueue(data, kCount, MPI_INT, kAbsent, comm);
}
const Case kCases[] = {
    {"an allreduce", sum},
    {"an allreduce, and the rank computes", sum, false, true},
    {"a broadcast", broadcast},
    {"an allreduce of a graph", sum, true},
    {"an allreduce, and the communicator goes", sum, false, false, true},
    {"a broadcast, and the communicator goes", broadcast, false, false, true},
};

CUgraphExec captured(const Case& one, const OnStream& on, int* data) {
  if (!one.by_graph) return nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(one.enqueue(data, on.comm));
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  return exec;
}

void take_part(const Case& one, OnStream& on, CUgraphExec exec, int* data) {
  const double begun = MPI_Wtime();
  if (exec != nullptr)
    CU(cuGraphLaunch(exec, on.queue));
  else
    OK(one.enqueue(data, on.comm));
  if (one.frees) OK(MPI_Comm_free(&on.comm));
  on.sync();
  if (MPI_Wtime() - begun > kGivesUp + kMoment)
    FAIL("%s: the stream ends after %.1f s only", one.name, MPI_Wtime() - begun);
}

void absent_in(const Case& one) {
  OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  Vector<int> data(kCount);
  for (size_t i = 0; i < kCount; ++i) data[i] = 0;
  data.put(on.queue);
  OK(one.enqueue(data.on_device(), on.comm));
  CUgraphExec exec = captured(one, on, data.on_device());
  on.sync();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != kAbsent)
    take_part(one, on, exec, data.on_device());
  else if (one.computes)
    std::this_thread::sleep_for(std::chrono::duration<double>(2 * kGivesUp));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (one.frees) return;
  const int code = one.enqueue(data.on_device(), on.comm);
  if (code == MPI_SUCCESS) FAIL("%s: rank %d did nothing, and no error tells", one.name, kAbsent);
  if (std::string(error_text(code)).find("timed out") == std::string::npos)
    FAIL("%s: the error does not say which rank timed out: %s", one.name, error_text(code));
  on.sync();
  if (exec != nullptr) CU(cuGraphExecDestroy(exec));
}

void after(const Case& one) {
  const OnStream on;
  Vector<int> data(kCount);
  for (size_t i = 0; i < kCount; ++i) data[i] = 1;
  data.put(on.queue);
  OK(sum(data.on_device(), on.comm));
  data.get(on.queue);
  on.sync();
  for (size_t i = 0; i < kCount; ++i)
    if (data[i] != size) FAIL("after %s: element %zu is %d", one.name, i, data[i]);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TERN_GPU_TIMEOUT", "0.2", 1);  // kernels give up after ten times as long
  setenv("TERN_GPU_ENGINE", "kernel", 1);
  begin(&argc, &argv);
  start_cuda();
  const char* const full = std::getenv("FULL");
  const size_t usual = full != nullptr && *full != '\0' ? std::size(kCases) : 4;
  const size_t wanted = argc > 1 ? std::stoul(argv[1]) : usual;
  for (const Case& one : std::span(kCases).first(wanted)) {
    absent_in(one);
    after(one);
  }
  return end();
}
