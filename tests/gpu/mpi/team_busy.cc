// SPDX-License-Identifier: Apache-2.0
// The default stream has work at each collective. If the work ends, the ranks still form a team;
// otherwise each rank names the stream once.
// ranks: 2
// configurations: 4-peers
// queues: many, the default stream's work heads the only queue until all collectives have ended
// env: TERN_EXPLAIN=1
#include <atomic>
#include <chrono>
#include <thread>

#include "allocators.hpp"
#include "said.hpp"

extern "C" CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data);

using namespace tern::test;

namespace {

constexpr int kCount = 100;
constexpr const char* kBusy = "have waited 0.1 s each without success";

void work() {
  CU(cuLaunchHostFunc(
      nullptr, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, nullptr));
}

unsigned long long launches() { return control().there() ? control().calls("cuLaunchKernel") : 0; }

void team_comes(const Area& device) {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const Heard heard;
  unsigned long long before = 0;
  for (int i = 0; i < 40; ++i) {
    if (i == 20) before = launches();
    work();
    OK(MPI_Allreduce(MPI_IN_PLACE, device.address(), kCount, MPI_INT, MPI_MAX, comm));
  }
  if (control().there()) CHECK_EQ(launches() - before, 20);
  const std::string said = heard.text();
  if (said.find(kBusy) != said.npos) FAIL("unexpected report of a busy stream: %s", said.c_str());
  OK(MPI_Comm_free(&comm));
}

void stream_is_named(const Area& device) {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const Heard heard;
  std::atomic<bool> open{false};
  CU(cuLaunchHostFunc(
      nullptr,
      [](void* gate) {
        while (!static_cast<std::atomic<bool>*>(gate)->load())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      &open));
  for (int i = 0; i < 600; ++i)
    OK(MPI_Allreduce(MPI_IN_PLACE, device.address(), kCount, MPI_INT, MPI_MAX, comm));
  const std::string said = heard.text();
  open = true;
  CU(cuCtxSynchronize());
  const size_t first = said.find(kBusy);
  if (first == said.npos || said.find(kBusy, first + 1) != said.npos)
    FAIL("expected one report: %s", said.c_str());
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area device = plain(kCount * sizeof(int));
    const std::vector<int> data(kCount, rank + 1);
    std::vector<int> got(kCount);
    device.put(data.data(), kCount * sizeof(int));
    OK(MPI_Allreduce(MPI_IN_PLACE, device.address(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    team_comes(device);
    stream_is_named(device);
    device.get(got.data(), kCount * sizeof(int));
    for (const int one : got) CHECK_EQ(one, 3);
  }
  return end();
}
