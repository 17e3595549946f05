// SPDX-License-Identifier: Apache-2.0
// Limits: from which size on messages travel otherwise, from the parameters (src/base/params.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/process.hpp"

namespace tern::pml {

/// Largest eager message, bytes: a frame has at most 65,535. Less where a frame of the transport
/// has less room.
inline constexpr size_t kMostEager = 65280;
/// The same of device memory: a longer message stays on devices.
inline constexpr size_t kMostEagerOnDevice = 8192;
/// Room in a frame for the prefixes of an eager message, bytes at most.
inline constexpr size_t kMostPrefix = 128;
/// From here on, where a transport can, it sends from where the data lies: less is copied faster.
inline constexpr size_t kLeastDirect = 1024;

struct Limits {
  static constexpr size_t kNever = SIZE_MAX;
  size_t eager;       // bytes: up to here at once
  size_t net_eager;   // the same where the transport sends from where the data lies
  size_t unexpected;  // bytes that one sender may have here without a receive
  size_t put;         // put by the sender, where its transport can, from here on; 0: it says
  size_t pull;        // a message that travels alone is pulled from here on; kNever
  size_t both_ends;   // copied by both ends from here on; kNever

  explicit Limits(const core::Process& process)
      : eager(std::min(static_cast<size_t>(process.params.eager_limit), kMostEager)),
        net_eager(static_cast<size_t>(process.params.net_eager)),
        unexpected(static_cast<size_t>(process.params.unexpected_limit)),
        put(static_cast<size_t>(process.params.net_put)),
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
