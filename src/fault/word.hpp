// SPDX-License-Identifier: Apache-2.0
// Word: a contribution to an agreement by a rank or a host, or the result: a flag, the failed
// members, and the failures that all contributors have acknowledged.
// Why: words merge in any order and more than once, so trees and repeated messages are harmless.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::fault {

struct Word {
  uint32_t flag = ~0U;
  std::vector<int> failed, acked;  // ascending; `acked` may have more members than `failed`

  /// Throws std::bad_alloc.
  void merge(const Word& other);
  void fail(const std::vector<int>& members);
  /// Whether a failure lacks an acknowledgement.
  [[nodiscard]] bool error() const noexcept;
  bool operator==(const Word&) const = default;
};

}  // namespace tern::fault
