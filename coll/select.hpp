// SPDX-License-Identifier: Apache-2.0
// Selection: which algorithm runs, as a table that a person can read, with the reason.
// Every rank must come to the same answer: only what all ranks know may be asked.
#pragma once

#include <cstddef>
#include <string>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

struct Question {
  Collective collective;
  int32_t ranks;
  size_t bytes;  // of the vector, or of one block; 0 where blocks differ
  bool commutative = true;
  bool equal_blocks = true;
};

/// True where the algorithm's limits allow the operation.
[[nodiscard]] bool can(const Algorithm& algorithm, const Question& question) noexcept;
/// The first row of the table whose bounds hold and whose algorithm can do it. Never without an
/// answer.
[[nodiscard]] const Algorithm& select(const Question& question) noexcept;
/// "allreduce of 4096 bytes on 4 ranks: ring, up to ... bytes" for TERN_EXPLAIN.
[[nodiscard]] std::string explain(const Question& question, const Algorithm& algorithm);

}  // namespace tern::coll
