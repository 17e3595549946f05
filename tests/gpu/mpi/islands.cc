// SPDX-License-Identifier: Apache-2.0
// Four ranks on two linked pairs of GPUs: a large reduction reduces within each pair first, so only
// the exchange between pairs passes through the host.
// ranks: 4
// configurations: islands
#include "trace.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  start_cuda();
  if (control().there()) {
    const Area in = plain(kBytes), out = plain(kBytes);
    std::vector<float> mine(kCount), got(kCount);
    for (int i = 0; i < kCount; ++i)
      mine[static_cast<size_t>(i)] = static_cast<float>(i % 97 + rank);
    in.put(mine.data(), kBytes);
    unsigned long long bytes = 0, sum = 0;
    for (int round = 0; round < 2; ++round) {
      (void)trace.through_host();
      OK(MPI_Allreduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
      bytes = trace.through_host();
      out.get(got.data(), kBytes);
      for (int i = 0; i < kCount; ++i)
        if (got[static_cast<size_t>(i)] != static_cast<float>(4 * (i % 97) + 6))
          FAIL("element %d is %g", i, static_cast<double>(got[static_cast<size_t>(i)]));
    }
    OK(MPI_Allreduce(&bytes, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
      std::printf("%.2f times the data between host and devices, all ranks\n",
                  static_cast<double>(sum) / kBytes);
    if (sum > 4 * kBytes) FAIL("%llu bytes pass the host for %zu bytes of data", sum, kBytes);
  }
  OK(MPI_Finalize());
  return control().there() ? 0 : 77;
}
