// SPDX-License-Identifier: Apache-2.0
// DeviceCalls: the calls of one communicator that the devices do alone, as the proxy sees them.
// Why: nothing of them passes through the host, but someone must say whom a stream waits for, and
// MPI_Finalize must know that the stream has passed them.
// Lifetime: of a CommStream, or, of ordinary calls, of a CommState. Threads: close() by who
// enqueues, the rest by the proxy, or by the caller who waits; what the stream tells lies in pinned
// memory (device_reports.hpp), and no driver is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/wait_report.hpp"
#include "coll/gpu/team.hpp"
#include "core/communicator.hpp"

namespace tern::coll {

class DeviceCalls {
 public:
  /// The communicator may go before the stream has passed its calls. Throws std::bad_alloc.
  DeviceCalls(const core::Communicator& communicator, std::shared_ptr<GpuTeam> team);

  /// How many calls the stream has passed since the last time.
  [[nodiscard]] int look() noexcept;
  /// Says after TERN_GPU_TIMEOUT whom the stream waits for.
  void watch() noexcept;
  /// A kernel has given up: what the calls gave is undefined. Said the first time. As look().
  [[nodiscard]] bool has_given_up() noexcept;
  /// Whether look() would find some.
  [[nodiscard]] bool has_passed() const noexcept { return team_ != nullptr && passed() != seen_; }
  /// They are ordinary calls, each of which its caller waits for.
  void be_ordinary() noexcept { ordinary_ = true; }
  /// No more will begin; another communicator may have the team next.
  void close() noexcept {
    if (team_ != nullptr) last_ = team_->calls.count();
    closed_ = true;
  }
  /// The stream has passed all of them. After close().
  [[nodiscard]] bool over() const noexcept { return team_ == nullptr || seen_ == last_; }
  /// Whether the stream waits for another rank's now: said in the report.
  bool describe(WaitReport* report) const;

 private:
  void complain(uint32_t wait) const;
  void let_go() noexcept;
  const std::string name_;        // of the communicator
  const int64_t patience_;        // nanoseconds
  const std::vector<int> peers_;  // by rank
  const std::vector<int> names_;  // what users call them
  const std::shared_ptr<GpuTeam> team_;
  [[nodiscard]] uint32_t passed() const noexcept;
  uint32_t seen_;
  std::atomic<bool> closed_{false};
  uint32_t last_ = 0;  // once closed
  uint32_t wait_ = 0;
  int64_t since_ = 0;  // at this wait; 0: it was said
  bool ordinary_ = false;
  bool given_up_ = false;
};

}  // namespace tern::coll
