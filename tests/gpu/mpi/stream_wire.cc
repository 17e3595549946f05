// SPDX-License-Identifier: Apache-2.0
// Which wire kernels take, and why, as TERN_EXPLAIN says it: small vectors words of LL, larger ones
// lines of LL128 where NVLink joins all GPUs, and nowhere else; where one link is PCIe, whose lines
// arrive torn on this machine, it is named. What is summed is right in all cases.
// ranks: 2 3 4
// configurations: 4-peers weak pcie mps
// env: TERN_EXPLAIN=1
#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

bool are_linked(int one, int other) {
  int atomics = 0;
  return one % devices != other % devices &&
         cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                 one % devices, other % devices) == CUDA_SUCCESS &&
         atomics != 0;
}
bool all_are_linked() {
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < i; ++j)
      if (!are_linked(i, j)) return false;
  return true;
}

void expect_said(const Heard& heard, const char* words, bool wanted) {
  if (rank == 0 && heard.has(words) != wanted)
    FAIL("\"%s\" was %ssaid", words, wanted ? "not " : "");
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const Heard heard;
  {
    const OnStream on;
    check_allreduce(on, 1001);
    expect_said(heard, "(ll, ", true);
    expect_said(heard, "(ll128, ", false);
    // More than words of LL do, in one hop of two ranks and in two of more.
    for (int i = 0; i < 2; ++i) check_allreduce(on, size == 2 ? 20001 : 70001);
    expect_said(heard, "(ll128, ", all_are_linked());
    if (size > 2 && !all_are_linked() && are_linked(0, 1))
      expect_said(heard, "no NVLink joins the GPU and rank", true);
    if (size > 2 && devices == 1) expect_said(heard, "its GPU is shared with rank", true);
  }
  return end();
}
