// SPDX-License-Identifier: Apache-2.0
// Info: an ordered set of (key, value) strings.
// Lifetime: reference counted: the user's handle, and objects that keep their hints.
// Threads: any, also before MPI_Init, where no level of threads is known.
// See: MPI-5.0 chapter 10.
#pragma once

#include <mutex>
#include <optional>
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

  /// The value of a key, where it is set.
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
  /// False where the key was not set.
  bool erase(std::string_view key) noexcept;
  /// The keys in the order in which they were first set: how many, and one of them where it is
  /// there.
  [[nodiscard]] size_t count() const noexcept;
  [[nodiscard]] std::optional<std::string> key(size_t number) const;
  /// Takes over all pairs of `other`.
  void merge(const Info& other);

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Entries entries() const;

  mutable std::mutex mutex_;
  Entries entries_;
};

/// MPI_INFO_ENV: what is known of how this process was started.
void make_predefined_infos(Process& process);

}  // namespace tern::core
