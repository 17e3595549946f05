// SPDX-License-Identifier: Apache-2.0
// Threads with a stream and a communicator each enqueue concurrently, between ordinary calls on the
// same communicators. Driver allocations do not wait here, because a thread may allocate while
// another thread's operation waits for a rank.
// env: SOFTCUDA_WAITS=off
// ranks: 1 2 3
// configurations: 1 4-peers 2-apart jitter
// queues: many, threads of the ranks enqueue in different orders
// timeout: 120
#include <memory>
#include <thread>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kThreads = 3, kRounds = 30;

// The stream does not order ordinary calls, so the test counts them separately.
void work(const OnStream& on, int who) {
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  const size_t count = 1000 + 777 * static_cast<size_t>(who);
  Vector<int> data(count);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < count; ++i) data[i] = rank + round + who + static_cast<int>(i);
    data.put(on.queue);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(count), MPI_INT,
                              MPI_SUM, on.comm));
    int sum = rank, left = -1, right = rank * 7 + round;
    OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, on.comm));
    OK(MPI_Sendrecv(&right, 1, MPI_INT, (rank + 1) % size, 1, &left, 1, MPI_INT,
                    (rank + size - 1) % size, 1, on.comm, MPI_STATUS_IGNORE));
    data.get(on.queue);
    on.sync();
    CHECK_EQ(sum, size * (size - 1) / 2);
    CHECK_EQ(left, (rank + size - 1) % size * 7 + round);
    for (size_t i = 0; i < count; ++i)
      CHECK_EQ(data[i], size * (round + who + static_cast<int>(i)) + size * (size - 1) / 2);
  }
}

void several(const OnStream& one, const OnStream& other) {
  Vector<int> first(5000), second(300);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < 5000; ++i) first[i] = rank == 0 ? round + static_cast<int>(i) : -1;
    for (size_t i = 0; i < 300; ++i) second[i] = rank == size - 1 ? round * 2 : -1;
    first.put(one.queue);
    second.put(other.queue);
    OK(MPIX_Bcast_enqueue(first.on_device(), 5000, MPI_INT, 0, one.comm));
    OK(MPIX_Bcast_enqueue(second.on_device(), 300, MPI_INT, size - 1, other.comm));
    first.get(one.queue);
    second.get(other.queue);
    one.sync();
    other.sync();
    for (size_t i = 0; i < 5000; ++i) CHECK_EQ(first[i], round + static_cast<int>(i));
    for (size_t i = 0; i < 300; ++i) CHECK_EQ(second[i], round * 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
  start_cuda();
  {
    std::vector<std::unique_ptr<OnStream>> streams;
    for (int i = 0; i < kThreads; ++i) streams.push_back(std::make_unique<OnStream>());
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] { work(*streams[static_cast<size_t>(i)], i); });
    for (std::thread& one : threads) one.join();
    several(*streams[0], *streams[1]);
    MPI_Comm twin = MPI_COMM_NULL;
    OK(MPI_Comm_dup(streams[0]->comm, &twin));
    Vector<int> data(10);
    for (size_t i = 0; i < 10; ++i) data[i] = 1;
    data.put(streams[0]->queue);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 10, MPI_INT, MPI_SUM, twin));
    data.get(streams[0]->queue);
    OK(MPI_Comm_free(&twin));
    streams[0]->sync();
    for (size_t i = 0; i < 10; ++i) CHECK_EQ(data[i], size);
  }
  return end();
}
