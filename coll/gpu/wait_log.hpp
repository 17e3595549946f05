// SPDX-License-Identifier: Apache-2.0
// WaitLog: waits of a team's calls for other ranks, by number, and in words for the user.
// Why: the device reports the number of a wait alone; users ask for collective, step and ranks.
// Lifetime: of the team. Threads: any, but for name_ranks(), before the first wait.
// See: coll/gpu/device_reports.hpp, coll/gpu/device_calls.hpp.
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

  /// The steps of a schedule from `step` on, in a pass.
  struct Wait {
    const Placed* placed = nullptr;
    size_t step = 0;
    MPI_Count pass = 0;
  };
  /// The number of a wait in a batch, or of a launch.
  [[nodiscard]] uint32_t note(const Wait& wait, bool captured);
  /// The number of the wait that a stream or a kernel has reached; 0: the device waits for no rank.
  [[nodiscard]] uint32_t current() const noexcept;
  /// Describes the wait of a number, and adds to *ranks the team's ranks waited for.
  [[nodiscard]] std::string describe(uint32_t wait, std::vector<int>* ranks) const;
  /// Names the ranks of a wait in vain, where a kernel has given up; empty: no kernel has.
  [[nodiscard]] std::string why_given_up() const;
  /// Ranks as users know them, where the team has a part of these.
  void name_ranks(std::vector<int> names) noexcept { names_ = std::move(names); }

 private:
  static constexpr uint32_t kNotes = 4096;  // waits remembered; captured waits all are
  // Numbers of waits: of a graph's, of kernels, which report a place by themselves.
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
  std::vector<Wait> notes_, captured_;  // by number
  uint32_t next_note_ = 0;
  std::vector<int> names_;  // by rank
};

}  // namespace tern::coll
