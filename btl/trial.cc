// SPDX-License-Identifier: Apache-2.0
// The transports that are tried: a row each.
#include "btl/trial.hpp"

namespace tern::btl {
namespace {

constexpr std::vector<Trial> (*kTrials[])() = {self::try_here, sm::try_here};

}  // namespace

std::vector<Trial> try_transports() {
  std::vector<Trial> trials;
  for (const auto try_here : kTrials)
    for (Trial& trial : try_here()) trials.push_back(std::move(trial));
  return trials;
}

}  // namespace tern::btl
