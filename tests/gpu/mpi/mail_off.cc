// SPDX-License-Identifier: Apache-2.0
// cuda_mail=0 in TERN_TEST: small messages of device memory without a kernel.
// ranks: 2
// configurations: 1
// env: TERN_TEST=cuda_mail=0
#include "allocators.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area out = plain(4096), in = plain(4096);
    const int other = 1 - rank;
    std::vector<uint8_t> got(4096);
    for (int bytes : {1, 8, 1000, 4096}) {
      out.put(bytes_of(4096, static_cast<unsigned>(rank + bytes)));
      OK(MPI_Sendrecv(out.address(), bytes, MPI_BYTE, other, 1, in.address(), bytes, MPI_BYTE,
                      other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      in.get(got.data(), static_cast<size_t>(bytes));
      const auto want = bytes_of(4096, static_cast<unsigned>(other + bytes));
      for (size_t i = 0; i < static_cast<size_t>(bytes); ++i) CHECK_EQ(got[i], want[i]);
    }
    if (control().there()) CHECK_EQ(control().calls("cuLaunchKernel"), 0);
  }
  return end();
}
