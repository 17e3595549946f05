// SPDX-License-Identifier: Apache-2.0
// GpuTeam: the ranks of a communicator, each with a GPU that maps all other ranks' memory, and all
// parts for collectives between streams.
// Why: scratch is mapped and tested before the first call, so calls exchange no addresses.
// Lifetime: all ranks make a team together (teams.hpp), a communicator leases the team, and memory
// returns to the driver when the rank leaves its job.
// Threads: calls of a team are serialized (mutex()); making a team needs the channel's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fate.hpp"
#include "coll/gpu/device_reports.hpp"
#include "coll/gpu/lines.hpp"
#include "coll/gpu/multicast.hpp"
#include "coll/gpu/program.hpp"
#include "coll/gpu/team_calls.hpp"
#include "coll/gpu/team_memory.hpp"
#include "coll/gpu/team_schedules.hpp"
#include "coll/gpu/wait_log.hpp"
#include "coll/gpu/waiting_kernels.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class GpuTeam {
 public:
  GpuTeam(uint64_t number, std::vector<int> members, int rank, cuda::Device& device);
  GpuTeam(const GpuTeam&) = delete;
  GpuTeam& operator=(const GpuTeam&) = delete;
  ~GpuTeam();

  TeamMemory memory;
  DeviceReports reports;
  TeamCalls calls;
  WaitLog waits;
  TeamSchedules schedules;
  Programs programs;
  WaitingKernels kernels;
  Fate abandoned;  // a rank has left: waits for the rank never end
  Fate broken;     // some work of a call is missing: other ranks wait forever

  /// end() frees all memory. On a busy device freeing would block, so memory stays allocated, and
  /// memory.taken() is true.
  void end() noexcept;
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const std::vector<int>& members() const noexcept { return members_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  /// twin() is a smaller team of the same ranks for the communicator's first duplicate, made in
  /// advance, because making a duplicate must not wait for other ranks.
  [[nodiscard]] const std::shared_ptr<GpuTeam>& twin() const noexcept { return twin_; }
  void lease(bool on) noexcept;
  [[nodiscard]] bool leased() const noexcept { return leased_ || (twin_ && twin_->leased()); }
  /// A graph pins the team, which forbids further leases.
  void pin() noexcept { pinned_ = true; }
  [[nodiscard]] bool at_rest() const noexcept {
    return calls.over() && (!twin_ || twin_->at_rest());
  }
  [[nodiscard]] bool fit() const {
    return !broken.dead() && !abandoned.dead() && waits.why_given_up().empty() &&
           (!twin_ || twin_->fit());
  }

  /// no_lines() is empty if LL128 may be used, else the reason, the same on all ranks.
  [[nodiscard]] const std::string& no_lines() const noexcept { return lines_.why_not; }
  [[nodiscard]] const std::string& nvlink_source() const noexcept { return lines_.source; }
  /// set_lines() must precede take_scratch().
  void set_lines(LinesVerdict of_all) noexcept { lines_ = std::move(of_all); }
  [[nodiscard]] Multicast* multicast() const noexcept { return multicast_.get(); }
  [[nodiscard]] const std::string& no_multicast() const noexcept { return no_multicast_; }
  void set_multicast(std::unique_ptr<Multicast> made) noexcept;
  void set_no_multicast(std::string why) noexcept { no_multicast_ = std::move(why); }

  /// After let_go(), data is undefined, and the team invalid. let_go() calls the driver.
  void let_go() noexcept;

  struct Scratch {
    size_t bytes;
    bool plain;  // allocated by cuMemAlloc, without a descriptor
    bool twin;
  };
  /// take_scratch() waits for all work on the device; the caller holds no lock.
  [[nodiscard]] std::string take_scratch(Scratch wanted);
  [[nodiscard]] std::string map(const TeamMemory::Mapper& map_of);

 private:
  void give_back() noexcept;
  [[nodiscard]] std::string prepare();
  [[nodiscard]] std::string make_twin(const ScratchLayout& layout);

  const uint64_t number_;
  const std::vector<int> members_;
  std::shared_ptr<GpuTeam> twin_;
  std::atomic<bool> leased_{false};  // atomic, because a duplicate may use another channel
  bool pinned_ = false;
  LinesVerdict lines_{"no rank was asked", {}};
  std::string no_multicast_ = lines_.why_not;
  std::unique_ptr<Multicast> multicast_;
  std::mutex mutex_;
};

}  // namespace tern::coll
