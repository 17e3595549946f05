// SPDX-License-Identifier: Apache-2.0
// A small blocking collective of device memory is one kernel on each device, begun by few calls of
// the driver, none of which waits for all work, and nothing of its data goes through the host: also
// where the first call of the communicator came before the program had a driver.
// ranks: 2
// full-ranks: 4
// configurations: 4-peers mps
// sanitizers: no
#include "trace.hpp"

using namespace tern::test;

namespace {

const char* const kWaitForAll[] = {"cuCtxSynchronize",    "cuMemFree_v2",  "cuMemAlloc_v2",
                                   "cuStreamSynchronize", "cuMemUnmap",    "cuMemHostAlloc",
                                   "cuEventSynchronize",  "cuMemFreeHost", "cuLibraryLoadData"};
unsigned long long waits_for_all() {
  unsigned long long sum = 0;
  for (const char* name : kWaitForAll) sum += control().calls(name);
  return sum;
}
/// Questions depend on time: whether something has failed, and whether memory that was named for
/// others is still there.
unsigned long long calls_but_questions() {
  return control().all_calls() - 4 * control().calls("cuStreamQuery") -
         control().calls("cuPointerGetAttributes");
}

constexpr int kRounds = 10;

template <class Call>
void count(const char* what, Trace* trace, Call&& call) {
  for (int i = 0; i < 3; ++i) OK(call());  // the first tells of devices, the second prepares
  (void)trace->through_host();
  const auto before = calls_but_questions(), kernels = control().calls("cuLaunchKernel");
  const auto waits = waits_for_all();
  for (int i = 0; i < kRounds; ++i) OK(call());
  const auto calls = (calls_but_questions() - before) / kRounds;
  const auto launched = control().calls("cuLaunchKernel") - kernels;
  if (rank == 0) std::printf("%s: %llu calls of the driver\n", what, calls);
  if (calls > 6) FAIL("%s takes %llu calls of the driver", what, calls);
  if (launched != kRounds) FAIL("%s: %llu kernels in %d calls", what, launched, kRounds);
  if (waits_for_all() != waits) FAIL("%s waits for all work", what);
  if (const size_t bytes = trace->through_host(); bytes != 0)
    FAIL("%s: %zu bytes go through the host", what, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  start_cuda();
  if (!control().there()) {
    OK(MPI_Finalize());
    return 77;
  }
  constexpr size_t kBytes = 4 << 20;
  const Area in = plain(kBytes), out = plain(kBytes);
  const MPI_Comm world = MPI_COMM_WORLD;
  for (const int n : {1, 100, 10000, 200000}) {
    count("MPI_Allreduce", &trace,
          [&] { return MPI_Allreduce(in.address(), out.address(), n, MPI_FLOAT, MPI_SUM, world); });
    count("MPI_Allreduce in place", &trace,
          [&] { return MPI_Allreduce(MPI_IN_PLACE, out.address(), n, MPI_FLOAT, MPI_SUM, world); });
    count("MPI_Allgather", &trace, [&] {
      return MPI_Allgather(in.address(), n, MPI_FLOAT, out.address(), n, MPI_FLOAT, world);
    });
    count("MPI_Alltoall", &trace, [&] {
      return MPI_Alltoall(in.address(), n, MPI_FLOAT, out.address(), n, MPI_FLOAT, world);
    });
  }
  return end();
}
