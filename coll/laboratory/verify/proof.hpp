// SPDX-License-Identifier: Apache-2.0
// Proof: the result of the verifier.
#pragma once

#include <cstdint>
#include <string>

namespace tern::coll {

struct Proof {
  std::string fault;     // empty: proved. Else the first fault, with rank, lane and step
  int64_t messages = 0;  // sends, signals, puts and gets of all ranks
  int32_t steps = 0;     // the most of a rank
  [[nodiscard]] bool holds() const noexcept { return fault.empty(); }
};

}  // namespace tern::coll
