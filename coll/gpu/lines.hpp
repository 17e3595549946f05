// SPDX-License-Identifier: Apache-2.0
// LineFacts, judge_lines(): whether a team may use LL128. LL128 packets of 128 bytes must arrive
// whole, as NVLink between devices of the same architecture guarantees. NVML is asked first,
// because the driver's attributes omit devices hidden by CUDA_VISIBLE_DEVICES.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/device.hpp"
#include "topo/nvml.hpp"

namespace tern::coll {

struct LineFacts {
  uint64_t capability = 0;
  cuda::Uuid device;
  topo::PciAddress address;  // NVML finds GPUs by PCI address, also hidden ones
  int64_t to_switches = -1;
};
[[nodiscard]] LineFacts line_facts(cuda::Device& device, topo::NvLinks* links);

struct LinesVerdict {
  std::string why_not;  // empty: LL128 may be used
  std::string source;
};
[[nodiscard]] LinesVerdict judge_lines(const cuda::Device& device, const topo::NvLinks& links,
                                       const std::vector<LineFacts>& all, size_t rank,
                                       uint64_t blocks);

}  // namespace tern::coll
