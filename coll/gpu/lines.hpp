// SPDX-License-Identifier: Apache-2.0
// Whether a team may use lines of LL128: a wire that trusts a line of 128 bytes to arrive as a
// whole, which devices of one architecture, linked by NVLink, do. Why here: all ranks must come to
// the same answer, when the team is made. NVML is asked first, then the driver's attributes, which
// say nothing of devices that CUDA_VISIBLE_DEVICES hides. See: cuda/kernels/ll128.cuh, teams.cc,
// topo/nvml.hpp, tests/gpu/mpi/hidden_links.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/device.hpp"
#include "topo/nvml.hpp"

namespace tern::coll {

/// What a rank's device tells the others.
struct LineFacts {
  uint64_t capability = 0;  // 90 for sm_90
  cuda::Uuid device;
  topo::PciAddress address;  // by this NVML knows GPUs that another rank does not see
  int64_t to_switches = -1;  // its NVLinks that end in a switch; negative: NVML does not say
};
/// *links: of the device; null where there is no other rank, and NVML is not asked.
[[nodiscard]] LineFacts line_facts(cuda::Device& device, topo::NvLinks* links);

struct LinesVerdict {
  std::string why_not;  // empty: lines may be used
  std::string source;   // of the fact that NVLink joins the GPUs
};
/// As rank `rank` sees it. `blocks`: as many as kernels of the team have.
[[nodiscard]] LinesVerdict judge_lines(const cuda::Device& device, const topo::NvLinks& links,
                                       const std::vector<LineFacts>& all, size_t rank,
                                       uint64_t blocks);

}  // namespace tern::coll
