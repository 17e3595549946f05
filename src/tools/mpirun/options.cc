// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/options.hpp"

#include <algorithm>

namespace tern::mpirun {

int Options::ranks() const noexcept {
  int sum = 0;
  for (const App& app : apps) sum += app.ranks;
  return sum;
}

std::vector<boot::ProcessSet> process_sets_of(const Options& options) {
  std::vector<boot::ProcessSet> sets;
  int first = 0;
  for (const App& app : options.apps) {
    for (const std::string& name : app.sets) {
      const auto named = [&name](const boot::ProcessSet& set) { return set.name == name; };
      auto set = std::find_if(sets.begin(), sets.end(), named);
      if (set == sets.end()) set = sets.insert(set, {name, {}});
      for (int rank = first; rank < first + app.ranks; ++rank) set->ranks.push_back(rank);
    }
    first += app.ranks;
  }
  return sets;
}

const char* value_in(const std::vector<std::string>& list, const std::string& name) noexcept {
  for (const std::string& entry : list)
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        entry.compare(0, name.size(), name) == 0)
      return entry.c_str() + name.size() + 1;
  return nullptr;
}

Pairs variables_of(const Options& options, const App& app) {
  Pairs pairs = options.environment;
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&app](const auto& pair) {
                               return std::any_of(
                                   app.environment.begin(), app.environment.end(),
                                   [&pair](const auto& own) { return own.first == pair.first; });
                             }),
              pairs.end());
  pairs.insert(pairs.end(), app.environment.begin(), app.environment.end());
  return pairs;
}

}  // namespace tern::mpirun
