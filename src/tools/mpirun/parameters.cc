// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/parameters.hpp"

#include <algorithm>
#include <utility>

#include "base/config.hpp"

extern "C" char** environ;

namespace tern::mpirun {
namespace {

void complain_about(const std::vector<std::pair<std::string, std::string>>& pairs,
                    std::vector<std::string>* complaints) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : pairs) lines.push_back(name + "=" + value);
  std::vector<const char*> block;
  for (const std::string& line : lines) block.push_back(line.c_str());
  block.push_back(nullptr);
  std::vector<std::string> found;
  (void)Params::from(block.data(), &found);
  for (std::string& text : found)
    if (std::find(complaints->begin(), complaints->end(), text) == complaints->end())
      complaints->push_back(std::move(text));
}

}  // namespace

std::vector<std::string> parameter_complaints(const Options& options) {
  std::vector<std::string> complaints;
  (void)load_params(environ, &complaints);
  complain_about(options.environment, &complaints);
  for (const App& app : options.apps) complain_about(app.environment, &complaints);
  return complaints;
}

Params parameters_of(const Options& options) {
  Params params = load_params(environ, nullptr);
  const auto add = [&params](const std::vector<std::pair<std::string, std::string>>& pairs) {
    for (const auto& [name, value] : pairs) {
      const std::string line = name + "=" + value;
      const char* block[] = {line.c_str(), nullptr};
      params.take_environment(block, nullptr);
    }
  };
  add(options.environment);
  if (!options.apps.empty()) add(options.apps[0].environment);
  return params;
}

}  // namespace tern::mpirun
