// SPDX-License-Identifier: Apache-2.0
// MPS clients refuse descriptors of peer memory but accept the driver's older handles. The ranks
// form a team, and kernels perform enqueued calls.
// ranks: 2
// configurations: mps
// env: SOFTCUDA_FAULT=cuMemImportFromShareableHandle:1:801,cuMemImportFromShareableHandle:2:801
// env: TERN_EXPLAIN=1
// timeout: 60
#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  std::string said;
  {
    const Heard heard;
    const OnStream on;
    for (const size_t ints : {1, 100, 30000}) check_allreduce(on, ints);
    said = heard.text();
  }
  if (control().there() && rank == 0 && said.find("goes into the stream by the") == said.npos)
    FAIL("expected kernels: %s", said.c_str());
  return end();
}
