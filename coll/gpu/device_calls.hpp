// SPDX-License-Identifier: Apache-2.0
// DeviceCalls: the calls of a communicator that run on devices alone, seen by the proxy.
// Why: the proxy reports awaited ranks, and MPI_Finalize waits until the stream has passed all
// calls.
// Lifetime: a CommStream's or, for blocking calls, a CommState's.
// Threads: close() by the enqueuing thread, the rest by the proxy or the blocked caller. No driver
// calls.
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
  /// DeviceCalls may outlive the communicator.
  DeviceCalls(const core::Communicator& communicator, std::shared_ptr<GpuTeam> team);

  [[nodiscard]] int look() noexcept;
  void watch() noexcept;
  /// has_given_up() is true after a kernel's timeout: results are undefined. The reason is logged
  /// once.
  [[nodiscard]] bool has_given_up() noexcept;
  [[nodiscard]] bool has_passed() const noexcept { return team_ != nullptr && passed() != seen_; }
  void be_ordinary() noexcept { ordinary_ = true; }
  /// close() ends the series of calls; another communicator may then lease the team.
  void close() noexcept {
    if (team_ != nullptr) last_ = team_->calls.count();
    closed_ = true;
  }
  /// over() requires close().
  [[nodiscard]] bool over() const noexcept { return team_ == nullptr || seen_ == last_; }
  /// describe() returns false if the stream does not wait.
  bool describe(WaitReport* report) const;

 private:
  void complain(uint32_t wait) const;
  void let_go() noexcept;
  const std::string name_;
  const int64_t timeout_;  // ns; 0: no timeout
  const std::vector<int> peers_;
  const std::vector<int> names_;
  const std::shared_ptr<GpuTeam> team_;
  [[nodiscard]] uint32_t passed() const noexcept;
  uint32_t seen_;
  std::atomic<bool> closed_{false};
  uint32_t last_ = 0;
  uint32_t wait_ = 0;
  int64_t since_ = 0;  // start of the wait; 0: already logged
  bool ordinary_ = false;
  bool given_up_ = false;
};

}  // namespace tern::coll
