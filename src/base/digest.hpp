// SPDX-License-Identifier: Apache-2.0
// Digests of texts, equal on all ranks (FNV-1a, 64 bits). Why: ranks compare names as numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern {

[[nodiscard]] constexpr uint64_t digest_text(std::string_view text,
                                             uint64_t begin = 0xcbf29ce484222325ULL) noexcept {
  for (const char c : text) begin = (begin ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return begin;
}

}  // namespace tern
