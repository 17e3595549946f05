// SPDX-License-Identifier: Apache-2.0
// Sliced: a large reduction in flight: for each piece a rank posts inputs, reduces its slice, and
// posts the result. Inputs of a piece go out before results of the previous piece, to halve the
// waits.
#pragma once

#include "coll/flat/parts.hpp"

namespace tern::coll {

class Sliced final : public Parts {
 public:
  Sliced(const Operation& operation, Slots& slots) noexcept;

  [[nodiscard]] Sources sources(int64_t /*epoch*/) const noexcept override { return {0, ranks_}; }
  [[nodiscard]] bool writes(int64_t /*epoch*/) const noexcept override { return true; }
  [[nodiscard]] bool can_write(int64_t epoch, int64_t read) const noexcept override;
  [[nodiscard]] int64_t fills(int64_t epoch) const noexcept override;
  void write(int64_t epoch) override;
  void read(int64_t epoch) override;

 private:
  struct EpochRole {
    int64_t piece;
    bool results;
  };
  [[nodiscard]] EpochRole part_of(int64_t epoch) const noexcept;
  [[nodiscard]] int64_t inputs_of(int64_t piece) const noexcept;
  [[nodiscard]] int64_t results_of(int64_t piece) const noexcept;
  void copy_results(const ElementRange& range);

  int64_t pieces_;
  bool all_, onto_own_;
};

}  // namespace tern::coll
