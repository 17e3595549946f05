// SPDX-License-Identifier: Apache-2.0
// A rank's device is busy: the other ranks wait without limit, and report the awaited rank after
// TERN_GPU_TIMEOUT. After an interrupt the ranks return at once, even if a waiting kernel blocks
// the hardware queue.
// ranks: 2
// configurations: queue-peers
// alone: yes
// timeout: 60
// expect-stderr: has waited for
#include <chrono>
#include <thread>

#include "allocators.hpp"
#include "mpix.h"

extern "C" CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data);

using namespace tern::test;

namespace {

constexpr int kLate = 3;

int sum(MPI_Comm comm, const Area& area) {
  return MPI_Allreduce(MPI_IN_PLACE, area.address(), 100, MPI_INT, MPI_SUM, comm);
}

void occupy(CUstream stream) {
  if (rank != 1) return;
  CU(cuLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::seconds(kLate)); }, nullptr));
}

MPI_Comm prepared(const Area& area) {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int i = 0; i < 3; ++i) OK(sum(comm, area));
  return comm;
}

void waits(CUstream stream, const Area& area) {
  MPI_Comm comm = prepared(area);
  std::vector<int> data(100, rank + 1);
  area.put(data.data(), 400);
  occupy(stream);
  OK(sum(comm, area));
  area.get(data.data(), 400);
  for (const int one : data) CHECK_EQ(one, 3);
  CU(cuStreamSynchronize(stream));
  OK(MPI_Comm_free(&comm));
}

void is_interrupted(CUstream stream, const Area& area) {
  MPI_Comm comm = prepared(area);
  occupy(stream);
  const double begun = MPI_Wtime();
  std::thread other([comm] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    OK(MPIX_Comm_interrupt(comm));
  });
  const int code = sum(comm, area);
  other.join();
  if (rank == 0 && MPI_Wtime() - begun > kLate - 1)
    FAIL("an interrupted call takes %.1f s, as long as rank 1's device", MPI_Wtime() - begun);
  if (rank == 0) CHECK(code != MPI_SUCCESS);
  CU(cuStreamSynchronize(stream));
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TERN_GPU_TIMEOUT", "0.1", 1);  // ten times the timeout is still less than the delay
  int level = MPI_THREAD_SINGLE;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  start_cuda();
  {
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const Area area = plain(4096);
    waits(stream, area);
    is_interrupted(stream, area);
    CU(cuStreamDestroy_v2(stream));
  }
  return end();
}
