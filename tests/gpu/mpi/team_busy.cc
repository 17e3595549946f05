// SPDX-License-Identifier: Apache-2.0
// A default stream with work at every collective prevents a team: each rank names the stream once,
// and the results are right.
// ranks: 2
// configurations: 4-peers
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
constexpr const char* kWords = "had work in the default stream";

void allreduce(const Area& area, const std::vector<int>& data) {
  area.put(data.data(), kCount * sizeof(int));
  OK(MPI_Allreduce(MPI_IN_PLACE, area.address(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area device = plain(kCount * sizeof(int));
    std::vector<int> data(kCount, rank + 1), got(kCount);
    allreduce(device, data);  // the first buffer of the process
    const Heard heard;
    std::atomic<bool> open{false};
    CU(cuLaunchHostFunc(
        nullptr,
        [](void* gate) {
          while (!static_cast<std::atomic<bool>*>(gate)->load())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &open));
    MPI_Comm comm = MPI_COMM_NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 600; ++i)
      OK(MPI_Allreduce(MPI_IN_PLACE, device.address(), kCount, MPI_INT, MPI_MAX, comm));
    const std::string said = heard.text();
    open = true;
    CU(cuCtxSynchronize());
    device.get(got.data(), kCount * sizeof(int));
    for (const int one : got) CHECK_EQ(one, 3);
    const size_t first = said.find(kWords);
    if (first == std::string::npos || said.find(kWords, first + 1) != said.npos)
      FAIL("it must be said once: %s", said.c_str());
    OK(MPI_Comm_free(&comm));
  }
  return end();
}
