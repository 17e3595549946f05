// SPDX-License-Identifier: Apache-2.0
// If a rank is killed while other streams wait for the rank, the job ends within seconds.
// ranks: 2 3
// configurations: 1 4-peers jitter
// alone: yes
// timeout: 20
// expect-exit: nonzero
// expect-stderr: killed by signal 9
// sanitizers: no, a process is killed
#include <csignal>

#include "stream.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const OnStream on;
  Vector<int> data(100000);
  const std::vector<int> counts(static_cast<size_t>(size), 1000);
  std::vector<int> places;
  for (int i = 0; i < size; ++i) places.push_back(i * 1000);
  for (int i = 0; rank != 1 || i < 20; ++i) {
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 100000, MPI_INT, MPI_MAX, on.comm));
    OK(MPIX_Alltoallv_enqueue(data.on_device(), counts.data(), places.data(), MPI_INT,
                              data.on_device() + 50000, counts.data(), places.data(), MPI_INT,
                              on.comm));
  }
  std::raise(SIGKILL);
}
