// SPDX-License-Identifier: Apache-2.0
// Limits: message sizes at which the protocol changes, from the parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/process.hpp"

namespace tern::pml {

/// A frame has at most 65,535 bytes.
inline constexpr size_t kMostEager = 65280;
inline constexpr size_t kMostEagerOnDevice = 8192;
/// kMostPrefix holds all prefixes of an eager message.
inline constexpr size_t kMostPrefix = 128;
/// kLeastDirect: zero copy pays from this size on.
inline constexpr size_t kLeastDirect = 1024;
/// kLeastRdma: RDMA pays from this size on, because of registration and a round trip.
inline constexpr size_t kLeastRdma = 256 << 10;

struct Limits {
  static constexpr size_t kNever = SIZE_MAX;
  size_t eager;
  size_t net_eager;
  size_t unexpected;
  size_t rdma;  // minimum for RDMA; 0: the transport decides
  size_t pull;  // minimum for pulling a lone message
  size_t both_ends;

  /// The least bytes of RDMA from or to an endpoint.
  [[nodiscard]] size_t least_rdma(bool offloaded) const noexcept {
    return rdma != 0 ? rdma : offloaded ? kLeastRdma : kNever;
  }

  explicit Limits(const core::Process& process)
      : eager(std::min(static_cast<size_t>(process.params.eager_limit), kMostEager)),
        net_eager(static_cast<size_t>(process.params.net_eager)),
        unexpected(static_cast<size_t>(process.params.unexpected_limit)),
        rdma(static_cast<size_t>(process.params.net_put)),
        pull(static_cast<size_t>(process.params.sm_pull_limit)),
        both_ends(static_cast<size_t>(process.params.sm_both_limit)) {
    const SingleCopy way = process.params.sm_single_copy;
    if (way == SingleCopy::kPipeline)
      pull = both_ends = kNever;
    else if (way == SingleCopy::kPull)
      both_ends = kNever;
    else if (way == SingleCopy::kBoth)
      pull = both_ends = 0;
  }
};

}  // namespace tern::pml
