// SPDX-License-Identifier: Apache-2.0
// Each rank sees only one device (CUDA_VISIBLE_DEVICES), so NVML must report the links. Ranks
// choose LL128 if NVLink joins all GPUs, also if NVML shows only the rank's own device (nvml-own)
// or no pairs (nvml-old). With a PCIe link or without NVML (nvml-away), Tern prints the reason
// against LL128.
// ranks: 2 3 4
// configurations: 4-peers weak pcie nvml-own nvml-old nvml-away
// env: TERN_EXPLAIN=1
#include <dlfcn.h>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr char kOtherReason[] = "'s GPU is hidden by CUDA_VISIBLE_DEVICES";

bool nvml_is_here() { return dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

/// PCIe joins devices 0 and 3, and devices 1 and 2.
bool all_are_linked() {
  const char* const peers = std::getenv("SOFTCUDA_PEERS");
  return peers == nullptr || std::string(peers).find("PCIE") == std::string::npos || size < 3;
}

std::string wire_taken(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Comm_get_info(comm, &info));
  char value[64] = {};
  int length = sizeof value, there = 0;
  OK(MPI_Info_get_string(info, "tern_gpu_wire_taken", &length, value, &there));
  OK(MPI_Info_free(&info));
  return there != 0 ? value : "none";
}

void expect_said(const Heard& heard, const char* words) {
  if (rank == 0 && !heard.has(words)) FAIL("the text \"%s\" is missing", words);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const own_rank = std::getenv("PMIX_RANK");
  if (own_rank == nullptr) return 1;
  if (std::getenv("SOFTCUDA_DEVICES") == nullptr) return 77;  // real machines have unknown links
  setenv("CUDA_VISIBLE_DEVICES", own_rank, 1);
  begin(&argc, &argv);
  start_cuda();
  CHECK_EQ(devices, 1);
  const Heard heard;
  {
    const OnStream on;
    for (int i = 0; i < 2; ++i) check_allreduce(on, size == 2 ? 20001 : 70001);
    const bool wanted = nvml_is_here() && all_are_linked();
    const std::string wire = wire_taken(on.comm);
    if ((wire == "ll128") != wanted)
      FAIL("the wire is %s, expected %sll128", wire.c_str(), wanted ? "" : "another than ");
    if (wanted)
      expect_said(heard, "source of the links: NVML");
    else if (nvml_is_here())
      expect_said(heard, "'s, says NVML");
    else
      expect_said(heard, kOtherReason),
          expect_said(heard, "NVML cannot say how both GPUs are linked");
  }
  return end();
}
