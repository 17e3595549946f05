// SPDX-License-Identifier: Apache-2.0
// Symbol: a block's content: contributions in operand order. A contribution is a block of ranks
// [low, high), reduced in rank order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

struct Run {
  int32_t block, low, high;
  bool operator==(const Run&) const = default;
};

class Symbol {
 public:
  Symbol() = default;
  Symbol(int32_t block, int32_t low, int32_t high) : runs_{{block, low, high}} {}

  [[nodiscard]] bool written() const noexcept { return !runs_.empty(); }
  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }
  [[nodiscard]] const Run& first() const noexcept { return runs_.front(); }
  [[nodiscard]] bool operator==(const Symbol&) const = default;
  /// `commutative` sorts the contributions, to ignore order.
  void append(const Symbol& right, bool commutative);
  /// Makes a set of ranks (barrier) a symbol: block 0 of each rank in the set.
  [[nodiscard]] static Symbol of_ranks(const std::vector<char>& known);
  void mark(std::vector<char>& known) const noexcept;
  [[nodiscard]] Symbol at_block(int32_t block) const;
  [[nodiscard]] std::string text() const;

 private:
  void merge();
  std::vector<Run> runs_;
};

}  // namespace tern::coll
