// SPDX-License-Identifier: Apache-2.0
// EnvironmentPresets: variables for a library that reads the environment while the library opens.
// Why: the program's children and other libraries get no variable of Tern.
// Threads: scopes take turns. No other thread reads the environment meanwhile.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tern {

class EnvironmentPresets {
 public:
  EnvironmentPresets() noexcept {}
  EnvironmentPresets(const EnvironmentPresets&) = delete;
  EnvironmentPresets& operator=(const EnvironmentPresets&) = delete;
  ~EnvironmentPresets() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    present().erase(present().begin() + static_cast<std::ptrdiff_t>(before_), present().end());
  }
  /// Sets a variable without value, until the end of the scope. Throws std::bad_alloc.
  void set(const char* name, const std::string& value) {
    if (std::getenv(name) != nullptr) return;
    names_.emplace_back(name);
    present().emplace_back(name);
    ::setenv(name, value.c_str(), 0);
  }
  /// The user's value of a variable, while no other thread changes the environment.
  [[nodiscard]] static std::optional<std::string> of_user(const char* name) {
    const std::lock_guard<std::recursive_mutex> turn(turns());
    const char* const value = std::getenv(name);
    if (std::find(present().begin(), present().end(), name) != present().end()) return std::nullopt;
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

 private:
  /// The names set by all presets of the thread with the turn.
  static std::vector<std::string>& present() noexcept {
    static auto& names = *new std::vector<std::string>;
    return names;
  }
  static std::recursive_mutex& turns() noexcept {
    static auto& mutex = *new std::recursive_mutex;  // outlives the program's own objects
    return mutex;
  }
  const std::lock_guard<std::recursive_mutex> turn_{turns()};
  const size_t before_ = present().size();
  std::vector<std::string> names_;
};

}  // namespace tern
