// SPDX-License-Identifier: Apache-2.0
// Proof: the verifier's result.
#pragma once

#include <cstdint>
#include <string>

namespace tern::coll {

struct Proof {
  std::string fault;              // empty: proved; else the first fault, with rank, lane and step
  int32_t rank = -1, block = -1;  // of a wrong result; -1: none
  int64_t messages = 0;           // sends, signals, puts and gets
  int32_t steps = 0;
  [[nodiscard]] bool holds() const noexcept { return fault.empty(); }
};

}  // namespace tern::coll
