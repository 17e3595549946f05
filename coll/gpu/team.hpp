// SPDX-License-Identifier: Apache-2.0
// GpuTeam: the ranks of a communicator, each with a GPU that reaches all other ranks' GPUs, with
// the parts for collectives between streams: memory, the order of calls, waits, programs.
// Why: work in a stream must need neither the host nor addresses of other ranks' buffers, for no
// call exchanges these; scratch is named, mapped and tried once, before the first call.
// Life cycle: made by all ranks together (teams.hpp); leased by one communicator at a time. Memory
// goes back to the driver when the rank leaves its job.
// Threads: calls of one team one at a time (mutex()); making one under the channel's lock.
// See: coll/gpu/README.md; tests/gpu/mpi/stream_between_devices.cc.
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
  /// The number is the same on all ranks.
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
  Fate forsaken;  // a rank takes no part any more: no wait for the rank ends by itself
  Fate broken;    // a part of a call is missing: other ranks' waits for the part are in vain

  /// Gives back all memory. Where the device has work, freeing would wait for the work: then the
  /// memory stays, and memory.taken() is true. The object may be held longer.
  void end() noexcept;
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const std::vector<int>& members() const noexcept { return members_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  /// A smaller team of the same ranks, made together with the team, for the first duplicate of the
  /// communicator: making the duplicate may wait for no rank. Null: none.
  [[nodiscard]] const std::shared_ptr<GpuTeam>& twin() const noexcept { return twin_; }
  void lease(bool on) noexcept;
  [[nodiscard]] bool leased() const noexcept { return leased_ || (twin_ && twin_->leased()); }
  /// A graph holds the team: no other communicator gets the team any more.
  void pin() noexcept { pinned_ = true; }
  /// No call is under way.
  [[nodiscard]] bool at_rest() const noexcept {
    return calls.over() && (!twin_ || twin_->at_rest());
  }
  /// No call has failed.
  [[nodiscard]] bool fit() const {
    return !broken.dead() && !forsaken.dead() && waits.why_given_up().empty() &&
           (!twin_ || twin_->fit());
  }

  /// Why kernels do not push lines of LL128, alike on all ranks; empty: they may.
  [[nodiscard]] const std::string& no_lines() const noexcept { return lines_.why_not; }
  /// The source of the fact that NVLink joins the GPUs, if lines may be used.
  [[nodiscard]] const std::string& nvlink_source() const noexcept { return lines_.source; }
  /// Before take_scratch().
  void set_lines(LinesVerdict of_all) noexcept { lines_ = std::move(of_all); }
  /// Memory with a multicast address, on all ranks or on none (null, and why).
  [[nodiscard]] Multicast* multicast() const noexcept { return multicast_.get(); }
  [[nodiscard]] const std::string& no_multicast() const noexcept { return no_multicast_; }
  void set_multicast(std::unique_ptr<Multicast> made) noexcept;
  void set_no_multicast(std::string why) noexcept { no_multicast_ = std::move(why); }

  /// Lets every wait of this rank's streams end, signalled or not: data is undefined then, and the
  /// team invalid. Calls the driver, on a stream of the team's.
  void let_go() noexcept;

  struct Scratch {
    size_t bytes;
    bool plain;  // by cuMemAlloc, not memory with a descriptor
    bool twin;   // a part besides, for a twin
  };
  /// Waits for all work on the device: no lock may be held. A sentence on failure.
  [[nodiscard]] std::string take_scratch(Scratch wanted);
  /// As TeamMemory::map(), for the twin, too.
  [[nodiscard]] std::string map(const TeamMemory::Mapper& map_of);

 private:
  void give_back() noexcept;
  [[nodiscard]] std::string prepare();
  [[nodiscard]] std::string make_twin(const ScratchLayout& layout);

  const uint64_t number_;
  const std::vector<int> members_;  // indices of peers, by rank
  std::shared_ptr<GpuTeam> twin_;
  std::atomic<bool> leased_{false};  // a duplicate has another channel
  bool pinned_ = false;
  LinesVerdict lines_{"no rank was asked", {}};
  std::string no_multicast_ = lines_.why_not;
  std::unique_ptr<Multicast> multicast_;
  std::mutex mutex_;
};

}  // namespace tern::coll
