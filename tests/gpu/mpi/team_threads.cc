// SPDX-License-Identifier: Apache-2.0
// Threads run device collectives on separate communicators, in a different order on each rank. No
// thread waits for another thread's collective.
// ranks: 2 3
// configurations: 1 4-peers mps queue-peers
// timeout: 90
#include <thread>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kThreads = 4, kRounds = 40;
constexpr int kCounts[] = {1, 700, 30000, 400000};

void sum(MPI_Comm comm, int count, int thread, int round, const Area& area) {
  std::vector<int> data(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) data[static_cast<size_t>(i)] = i + rank * 7 + thread + round;
  area.put(data.data(), data.size() * sizeof(int));
  OK(MPI_Allreduce(MPI_IN_PLACE, area.address(), count, MPI_INT, MPI_SUM, comm));
  area.get(data.data(), data.size() * sizeof(int));
  for (int i = 0; i < count; ++i) {
    const int want = size * (i + thread + round) + 7 * size * (size - 1) / 2;
    if (data[static_cast<size_t>(i)] != want)
      FAIL("thread %d, round %d: element %d of %d is %d, expected %d", thread, round, i, count,
           data[static_cast<size_t>(i)], want);
  }
}

void work(MPI_Comm comm, int thread) {
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  const Area device = plain(kCounts[3] * sizeof(int)), host = plain_host(kCounts[3] * sizeof(int));
  for (int round = 0; round < kRounds; ++round) {
    const int which = (round + thread) % 8;
    sum(comm, kCounts[which % 4], thread, round, which == 7 ? host : device);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
  start_cuda();
  MPI_Comm comms[kThreads];
  for (MPI_Comm& one : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, &one));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const int which = (i + rank) % kThreads;
    threads.emplace_back([&comms, which] { work(comms[which], which); });
  }
  for (std::thread& one : threads) one.join();
  for (MPI_Comm& one : comms) OK(MPI_Comm_free(&one));
  return end();
}
