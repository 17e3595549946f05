// SPDX-License-Identifier: Apache-2.0
// Each driver function of the multicast set-up fails on one rank, while a stream waits for another
// rank: all ranks get a communicator without multicast memory, and sums are correct.
// ranks: 3
// configurations: 4-peers
// env: TERN_EXPLAIN=1
// env: SOFTCUDA_WAITS=off
// timeout: 120
#include <chrono>
#include <memory>
#include <thread>

#include "faults.hpp"
#include "said.hpp"
#include "stream.hpp"

extern "C" CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data);

using namespace tern::test;

namespace {

constexpr size_t kCount = 300000;

void sum(const OnStream& on) {
  Vector<int> data(kCount);
  for (size_t i = 0; i < kCount; ++i) data[i] = rank + static_cast<int>(i);
  data.put(on.queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(kCount), MPI_INT,
                            MPI_SUM, on.comm));
  data.get(on.queue);
  on.sync();
  for (size_t i = 0; i < kCount; ++i)
    if (data[i] != size * static_cast<int>(i) + size * (size - 1) / 2)
      FAIL("%s: element %zu is %d", doing, i, data[i]);
}

/// The stream of rank 0 waits for rank 1's busy stream meanwhile. The caller keeps the
/// communicator, so the next one gets other memory.
std::unique_ptr<OnStream> make(const OnStream& busy, const std::string& fault, int at) {
  Vector<int> message(1000);
  if (rank == 1)
    CU(cuLaunchHostFunc(
        busy.queue, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); },
        nullptr));
  if (rank == 1) OK(MPIX_Send_enqueue(message.on_device(), 1000, MPI_INT, 0, 0, busy.comm));
  if (rank == 0)
    OK(MPIX_Recv_enqueue(message.on_device(), 1000, MPI_INT, 1, 0, busy.comm, MPI_STATUS_IGNORE));
  if (rank == at) control().fault(fault.c_str());
  auto made = std::make_unique<OnStream>();
  control().fault("");
  sum(*made);
  busy.sync();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;
  end_with_words();
  start_cuda();
  constexpr const char* kFaults[] = {
      "",
      "cuMulticastGetGranularity:1:999",
      "cuMulticastCreate:1:999",
      "cuMemExportToShareableHandle:2:999",
      "cuMemImportFromShareableHandle:3:999",
      "cuMulticastAddDevice:1:999",
      "cuMemCreate:2:999",
      "cuMulticastBindMem:1:999",
      "cuMemMap:4:999",
      "cuMemMap:5:999",
  };
  {
    const Heard heard;
    const OnStream busy;
    std::vector<std::unique_ptr<OnStream>> all;
    size_t before = 0;
    for (const std::string fault : kFaults)
      for (const int at : {0, 2}) {
        now("a communicator, " + fault + " at rank " + std::to_string(at), 20);
        all.push_back(make(busy, fault, at));
        alarm(0);
        const std::string words = heard.text(before);
        const bool taken = words.find("(multimem, ") != std::string::npos;
        before += words.size();
        if (rank == 0 && fault.empty() && !taken) FAIL("the switch was not taken");
        if (rank == 0 && fault.find("Multicast") != std::string::npos && taken &&
            (at == 0 || fault.find("Create") == std::string::npos) &&
            (at == 0 || fault.find("Granularity") == std::string::npos))
          FAIL("%s: the switch was taken", doing);
      }
  }
  return end();
}
