// SPDX-License-Identifier: Apache-2.0
// Verdicts: the GPU engines and wires with a recorded run on hardware.
// Why: users see which code has not run on a GPU yet.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tern::coll {

struct Verdict {
  const char* name;
  const char* record;  // "2027-01-31 NVIDIA H100 80GB HBM3, driver 580.65"
};

[[nodiscard]] std::span<const Verdict> verdicts() noexcept;
[[nodiscard]] const char* record_of(std::string_view name,
                                    std::span<const Verdict> all = verdicts()) noexcept;

/// mark_of() names engine and wire if neither has run on hardware, and is empty if both have.
[[nodiscard]] std::string mark_of(std::string_view engine, std::string_view wire,
                                  std::span<const Verdict> all = verdicts());

[[nodiscard]] std::string engines_in_words(std::span<const Verdict> all = verdicts());
[[nodiscard]] std::string wires_in_words(std::span<const Verdict> all = verdicts());

}  // namespace tern::coll
