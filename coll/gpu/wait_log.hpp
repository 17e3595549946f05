// SPDX-License-Identifier: Apache-2.0
// WaitLog: a team's numbered waits for other ranks, and their description for users.
// Lifetime: the team's. Threads: any; name_ranks() before the first wait.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "coll/gpu/device_reports.hpp"
#include "coll/gpu/placed.hpp"
#include "mpi.h"

namespace tern::coll {

class WaitLog {
 public:
  WaitLog(int rank, const DeviceReports& reports) noexcept : rank_(rank), reports_(reports) {}
  WaitLog(const WaitLog&) = delete;
  WaitLog& operator=(const WaitLog&) = delete;

  struct Wait {
    const Placed* placed = nullptr;
    size_t step = 0;
    MPI_Count pass = 0;
  };
  [[nodiscard]] uint32_t note(const Wait& wait, bool captured);
  [[nodiscard]] uint32_t current() const noexcept;
  [[nodiscard]] std::string describe(uint32_t wait, std::vector<int>* ranks) const;
  [[nodiscard]] std::string why_given_up() const;
  /// The user's numbers of ranks differ if the team is a part of the communicator.
  void name_ranks(std::vector<int> names) noexcept { names_ = std::move(names); }

 private:
  static constexpr uint32_t kNotes = 4096;
  // Flags of numbers: a captured wait; a kernel's own position.
  static constexpr uint32_t kCaptured = uint32_t{1} << 31, kKernels = uint32_t{1} << 30;
  [[nodiscard]] const Wait* find_note(uint32_t number) const noexcept;
  [[nodiscard]] std::string describe(const DeviceReports::Kernel& kernel) const;
  [[nodiscard]] int named(int rank) const noexcept {
    const auto at = static_cast<size_t>(rank);
    return at < names_.size() ? names_[at] : rank;
  }

  const int rank_;
  const DeviceReports& reports_;
  mutable std::mutex mutex_;
  std::vector<Wait> notes_, captured_;
  uint32_t next_note_ = 0;
  std::vector<int> names_;
};

}  // namespace tern::coll
