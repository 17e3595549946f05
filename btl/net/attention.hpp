// SPDX-License-Identifier: Apache-2.0
// Attention: polls a quiet network every 32nd round, because an idle poll on TCP is a system call.
#pragma once

#include <cstdint>

namespace tern::btl::net {

class Attention {
 public:
  [[nodiscard]] bool is_due(bool busy) noexcept {
    return idle_rounds_ <= kAttentive || busy || (++idle_rounds_ & kSeldom) == 0;
  }
  void looked(bool found) noexcept {
    if (found)
      idle_rounds_ = 0;
    else if (idle_rounds_ <= kAttentive)
      ++idle_rounds_;
  }
  void wake() noexcept { idle_rounds_ = 0; }

 private:
  static constexpr uint32_t kAttentive = 1000, kSeldom = 31;
  uint32_t idle_rounds_ = 0;
};

}  // namespace tern::btl::net
