// SPDX-License-Identifier: Apache-2.0
// One rank omits the other's operation: mpirun's report names the operation at the stream's head,
// although the program blocks in the driver.
// ranks: 2
// configurations: 1
// alone: yes
// mpirun: --timeout 3
// expect-exit: 124
// expect-stderr: MPIX_Allreduce_enqueue, reached by the stream
#include <unistd.h>

#include "stream.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const OnStream on;
  Vector<int> data(1000);
  data.put(on.queue);
  OK(MPIX_Barrier_enqueue(on.comm));
  on.sync();
  if (rank == 0)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 1000, MPI_INT, MPI_SUM, on.comm));
  if (rank == 0) on.sync();
  for (;;) pause();
}
