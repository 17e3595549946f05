// SPDX-License-Identifier: Apache-2.0
// Whether a team may use lines of LL128: a wire that trusts a line of 128 bytes to arrive as a
// whole, which devices of one architecture, linked by NVLink, do. Why here: all ranks must come to
// the same answer, when the team is made. See: cuda/kernels/ll128.cuh, teams.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/device.hpp"

namespace tern::coll {

/// What a rank's device tells the others.
struct LineFacts {
  uint64_t blocks = 0;      // of threads that move lines, resident together; 0: it has no kernels
  uint64_t capability = 0;  // 90 for sm_90
  cuda::Uuid device;
};
[[nodiscard]] LineFacts line_facts(cuda::Device& device);

/// What stands against lines, as rank `rank` sees it; empty: nothing. `blocks`: as many as kernels
/// of the team have.
[[nodiscard]] std::string why_no_lines(const cuda::Device& device,
                                       const std::vector<LineFacts>& all, size_t rank,
                                       uint64_t blocks);

}  // namespace tern::coll
