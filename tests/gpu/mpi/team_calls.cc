// SPDX-License-Identifier: Apache-2.0
// A small blocking collective of device memory is a single kernel per device. No call waits for a
// device's work, even if the communicator's first call preceded the driver.
// ranks: 2
// full-ranks: 4
// configurations: 4-peers mps
// sanitizers: no
#include "ledger.hpp"
#include "trace.hpp"

using namespace tern::test;

namespace {

/// Tern queries exported memory once per call.
const std::vector<Expected> kOneKernel = {
    {"cuPointerGetAttributes", kAny, true},   {"cuCtxGetCurrent", 1},
    {"cuThreadExchangeStreamCaptureMode", 2}, {"cuLaunchKernel", 1},
    {"cuStreamWriteValue32_v2", 1},           {"cuEventRecord", 1},
};

template <class Call>
void count(const char* what, Trace* trace, Call&& call) {
  for (int i = 0; i < 3; ++i)
    OK(call());  // the first call exchanges device facts, the second prepares
  (void)trace->through_host();
  expect_calls(what, kOneKernel, [&] { OK(call()); });
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
