// SPDX-License-Identifier: Apache-2.0
// validate: the cost model against the measured times of tern_coll tune. Predicted times are linear
// in the prices of a message, a byte, a reduced byte, ...; prices for a row are fitted to the other
// rows' times at near sizes, by least relative errors. So no row is predicted from its own times.
// Regret: the time of the row with the least predicted time, over the least time.
#pragma once

#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/select/model.hpp"

namespace tern::coll {

struct MeasuredTime {
  const Algorithm* row;
  size_t bytes;
  double time;  // us
};
/// A file of tune.
struct MeasuredFile {
  int32_t ranks = 0;
  Levels levels;  // empty: one host
  Model model;    // the file's figures
  std::vector<MeasuredTime> times;
};

struct Deviation {
  size_t times = 0, choices = 0;
  double error = 0;   // median, relative
  double regret = 1;  // geometric mean
  double worst = 1;   // regret
};
struct Validation {
  struct OfCollective {
    Collective collective;
    Deviation fitted;
  };
  Deviation by_figures, fitted;
  std::vector<OfCollective> collectives;
};

/// Throws tern::Error with `name`, line, fault and cure.
[[nodiscard]] MeasuredFile parse_measured(const std::string& text, const std::string& name);
/// Throws tern::Error with fewer than two rows.
[[nodiscard]] Validation validate(const MeasuredFile& measured);

}  // namespace tern::coll
