// SPDX-License-Identifier: Apache-2.0
// Large collectives of device memory bypass the host, by the software driver's trace.
// ranks: 2 4
// configurations: 1 4-peers in-turn
// full-configurations: 12.0
#include "trace.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 4 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

void check(const char* what, Trace* trace) {
  static bool links_were_tried = false;  // The first collective tests the links with the host's
                                         // patterns.
  constexpr size_t kTrial = 16 * 65536;
  const size_t bytes = trace->through_host();
  if (bytes > (links_were_tried ? 0 : kTrial))
    FAIL("%s of %zu bytes on the device copies %zu bytes from or to the host", what, kBytes, bytes);
  links_were_tried = true;
}

void reductions(const Area& in, const Area& out, Trace* trace) {
  (void)trace->through_host();
  const MPI_Comm w = MPI_COMM_WORLD;
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Allreduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Allreduce", trace);
    OK(MPI_Reduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_MAX, 0, w));
    check("MPI_Reduce", trace);
    OK(MPI_Reduce_scatter_block(in.address(), out.address(), kCount / size, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Reduce_scatter_block", trace);
    OK(MPI_Scan(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Scan", trace);
    OK(MPI_Bcast(out.address(), kCount, MPI_FLOAT, 0, w));
    check("MPI_Bcast", trace);
    OK(MPI_Allgather(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size,
                     MPI_FLOAT, w));
    check("MPI_Allgather", trace);
    OK(MPI_Gather(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                  1, w));
    check("MPI_Gather", trace);
    OK(MPI_Scatter(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                   1, w));
    check("MPI_Scatter", trace);
    OK(MPI_Alltoall(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                    w));
    check("MPI_Alltoall", trace);
  }
  (void)in.get(kBytes);
  if (trace->through_host() < kBytes) FAIL("the trace does not show a copy to the host");
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  start_cuda();
  if (control().there()) {
    const Area in = plain(kBytes), out = plain(kBytes);
    in.put(std::vector<uint8_t>(kBytes));
    out.put(std::vector<uint8_t>(kBytes));
    reductions(in, out, &trace);
  }
  OK(MPI_Finalize());
  return control().there() ? 0 : 77;
}
