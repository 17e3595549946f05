// SPDX-License-Identifier: Apache-2.0
// More stream communicators than multiprocessors. Even and odd ranks enqueue in opposite orders and
// priorities, and waiting kernels never fill a device. The second round frees half of the
// communicators during calls of the other half.
// ranks: 2 4
// configurations: 4-peers
// queues: many, ranks enqueue in opposite orders, and one queue has one order
// env: SOFTCUDA_PROCESSORS=4
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=simple
// env: TERN_GPU_SCRATCH=1048576
// timeout: 60
// variant: shared
//   env: TERN_GPU_ENGINE=auto
//   configurations: mps
#include <array>
#include <memory>
#include <vector>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kMany = 16, kInts = 20000;

class Calls {
 public:
  explicit Calls(int round) : round_(round) {
    for (int i = 0; i < kMany; ++i) data_.push_back(std::make_unique<Vector<int>>(kInts));
  }
  void enqueue(int i, const OnStream& on) {
    Vector<int>& data = *data_[static_cast<size_t>(i)];
    for (int k = 0; k < kInts; ++k)
      data[static_cast<size_t>(k)] = rank + round_ * 31 + i * 7 + k % 997;
    data.put(on.queue);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), kInts, MPI_INT, MPI_SUM, on.comm));
    data.get(on.queue);
  }
  void check(int i, const OnStream& on) {
    on.sync();
    for (int k = 0; k < kInts; ++k) {
      const int sum = size * (size - 1) / 2 + size * (round_ * 31 + i * 7 + k % 997);
      const int got = (*data_[static_cast<size_t>(i)])[static_cast<size_t>(k)];
      if (got != sum)
        FAIL("round %d, communicator %d: element %d is %d, expected %d", round_, i, k, got, sum);
    }
  }

 private:
  const int round_;
  std::vector<std::unique_ptr<Vector<int>>> data_;
};

int in_order(int i) { return rank % 2 == 0 ? i : kMany - 1 - i; }

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  start_cuda();
  int least = 0, greatest = 0;
  CU(cuCtxGetStreamPriorityRange(&least, &greatest));
  std::array<std::unique_ptr<OnStream>, kMany> all;
  const auto make = [&](int i) {
    const int priority = (i < kMany / 2) == (rank % 2 == 0) ? greatest : least;
    all[static_cast<size_t>(i)] = std::make_unique<OnStream>(MPI_COMM_WORLD, priority);
  };
  for (int i = 0; i < kMany; ++i) make(i);
  for (int round = 0; round < 4; ++round) {
    Calls calls(round);
    for (int i = 0; i < kMany; ++i)
      calls.enqueue(in_order(i), *all[static_cast<size_t>(in_order(i))]);
    for (int i = 0; i < kMany; ++i) calls.check(i, *all[static_cast<size_t>(i)]);
    if (round != 1) continue;
    Calls more(round + 10);
    for (int i = 0; i < kMany; i += 2) more.enqueue(i, *all[static_cast<size_t>(i)]);
    for (int i = 1; i < kMany; i += 2) all[static_cast<size_t>(i)].reset();
    for (int i = 1; i < kMany; i += 2) make(i);
    for (int i = 0; i < kMany; i += 2) more.check(i, *all[static_cast<size_t>(i)]);
  }
  for (auto& one : all) one.reset();
  return end();
}
