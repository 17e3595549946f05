// SPDX-License-Identifier: Apache-2.0
// Plan: data from which an emitter makes a schedule: the trees of a forest, the steps of a file.
// Why: an algorithm is a function of ranks alone; a plan adds what a machine or a person chose.
// Lifetime: shared, immutable; a cached schedule keeps its plan. All ranks have equal plans.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coll/schedule/collective.hpp"

namespace tern::coll {

class Plan : public std::enable_shared_from_this<Plan> {
 public:
  /// `row` is the name of the algorithm that reads the plan, with static lifetime.
  Plan(const char* row, int32_t ranks) noexcept : row_(row), ranks_(ranks) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;

  [[nodiscard]] const char* row() const noexcept { return row_; }
  [[nodiscard]] int32_t ranks() const noexcept { return ranks_; }
  /// True if the plan has the schedule of a collective from any root.
  [[nodiscard]] virtual bool serves(Collective collective) const noexcept = 0;
  /// The plan in words, for reports: "forest of 16 trees", "ar8.xml".
  [[nodiscard]] virtual std::string text() const = 0;

 private:
  const char* const row_;
  const int32_t ranks_;
};

}  // namespace tern::coll
