// SPDX-License-Identifier: Apache-2.0
// Info: an ordered set of (key, value) strings.
// Lifetime: reference counted: the user's handle, and objects that keep their hints.
// Threads: one writer at a time, as the standard asks of the user.
// See: MPI-5.0 chapter 10.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Process;

class Info final : public Object {
 public:
  static constexpr Kind kKind = Kind::kInfo;
  Info() noexcept : Object(Kind::kInfo) {}

  /// The value of a key; nullptr where it is not set.
  [[nodiscard]] const std::string* get(std::string_view key) const noexcept;
  void set(std::string_view key, std::string_view value);
  /// False where the key was not set.
  bool erase(std::string_view key) noexcept;
  /// All pairs in the order in which their keys were first set.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& entries() const noexcept {
    return entries_;
  }
  /// Takes over all pairs of `other`.
  void merge(const Info& other);

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// MPI_INFO_ENV: what is known of how this process was started.
void make_predefined_infos(Process& process);

}  // namespace tern::core
