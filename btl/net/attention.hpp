// SPDX-License-Identifier: Apache-2.0
// Attention: how often a quiet network is looked at.
// Why: on TCP a look that finds nothing is a system call, dearer than a message in shared memory:
// while nothing comes over the network, it is looked at every 32nd round.
#pragma once

#include <cstdint>

namespace tern::btl::net {

class Attention {
 public:
  /// Of this round. `busy`: something of ours is under way.
  [[nodiscard]] bool is_due(bool busy) noexcept {
    return idle_rounds_ <= kAttentive || busy || (++idle_rounds_ & kSeldom) == 0;
  }
  void looked(bool found) noexcept {
    if (found)
      idle_rounds_ = 0;
    else if (idle_rounds_ <= kAttentive)
      ++idle_rounds_;
  }
  /// The next round is to look in any case.
  void wake() noexcept { idle_rounds_ = 0; }

 private:
  static constexpr uint32_t kAttentive = 1000, kSeldom = 31;
  uint32_t idle_rounds_ = 0;
};

}  // namespace tern::btl::net
