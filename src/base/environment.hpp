// SPDX-License-Identifier: Apache-2.0
// EnvironmentPresets: variables for a library that reads the environment while it opens.
// Why: a variable that stays would reach the program's children and other libraries.
// Threads: one at a time; no other thread may use the environment.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace tern {

class EnvironmentPresets {
 public:
  EnvironmentPresets() = default;
  EnvironmentPresets(const EnvironmentPresets&) = delete;
  EnvironmentPresets& operator=(const EnvironmentPresets&) = delete;
  ~EnvironmentPresets() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  /// Sets the variable until the end of the scope, unless it has a value. Throws std::bad_alloc.
  void set(const char* name, const std::string& value) {
    if (std::getenv(name) != nullptr) return;
    names_.emplace_back(name);
    ::setenv(name, value.c_str(), 0);
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace tern
