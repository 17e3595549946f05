// SPDX-License-Identifier: Apache-2.0
// The kernels' wire, reported by TERN_EXPLAIN: LL for small vectors, LL128 for larger vectors if
// NVLink joins all GPUs. The report names a PCIe link.
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
    // LL serves smaller sums: one hop for two ranks, two hops for more.
    for (int i = 0; i < 2; ++i) check_allreduce(on, size == 2 ? 20001 : 70001);
    expect_said(heard, "(ll128, ", all_are_linked());
    if (size > 2 && !all_are_linked() && are_linked(0, 1))
      expect_said(heard, "no NVLink joins the GPU and rank", true);
    if (size > 2 && devices == 1) expect_said(heard, "its GPU is shared with rank", true);
  }
  return end();
}
