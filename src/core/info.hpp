// SPDX-License-Identifier: Apache-2.0
// Info: an ordered set of (key, value) strings. Threads: any, even before MPI_Init.
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

  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
  bool erase(std::string_view key) noexcept;
  [[nodiscard]] size_t count() const noexcept;
  [[nodiscard]] std::optional<std::string> key(size_t number) const;
  void merge(const Info& other);

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Entries entries() const;

  mutable std::mutex mutex_;
  Entries entries_;
};

void make_predefined_infos(Process& process);

}  // namespace tern::core
