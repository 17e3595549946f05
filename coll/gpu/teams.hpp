// SPDX-License-Identifier: Apache-2.0
// GpuTeams: the teams of a channel, and the rounds by which ranks make or find a team together.
// Lifetime: of the channel. A team stays when its communicator goes, for streams of peers may still
// write to it; the next communicator of the same ranks takes the team as it is.
// Threads: under the channel's lock. Errors: where some rank cannot, all ranks learn the reason.
// See: coll/gpu/team.hpp, coll/gpu/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/engine/executions.hpp"
#include "coll/gpu/team.hpp"
#include "topo/nvml.hpp"

namespace tern::coll {

class GpuTeams {
 public:
  explicit GpuTeams(Executions& executions) noexcept : executions_(executions) {}
  GpuTeams(const GpuTeams&) = delete;
  GpuTeams& operator=(const GpuTeams&) = delete;
  ~GpuTeams() {
    for (const auto& team : all_) team->end();
  }
  /// The calls of a team; a communicator may have a team for each use.
  enum class Use : uint8_t { kEnqueued, kOrdinary };
  /// From so many teams in the process on, ordinary calls get no further team and take another
  /// way: scratch stays when a communicator goes.
  static constexpr int kMostForOrdinary = 8;
  /// Together with all ranks of the communicator: an idle team of the same ranks, or a new team;
  /// null with *why_not on all ranks, and *islands where some ranks do not reach each other's
  /// memory: by rank the lowest rank of its island (topo/islands.hpp). `device`: of this rank's
  /// stream, or null. Throws Error, std::bad_alloc.
  [[nodiscard]] std::shared_ptr<GpuTeam> lease(core::Communicator& communicator, Use use,
                                               cuda::Device* device, std::string* why_not,
                                               std::vector<int>* islands = nullptr);
  /// The communicator is gone.
  static void give_back(GpuTeam& team) noexcept { team.lease(false); }

 private:
  struct Facts;
  struct Plan;
  [[nodiscard]] std::shared_ptr<GpuTeam> make(core::Communicator& communicator, const Plan& plan,
                                              std::string* why_not, std::vector<int>* islands);
  [[nodiscard]] std::shared_ptr<GpuTeam> idle(const std::vector<int>& members,
                                              const cuda::Device& device) const;
  [[nodiscard]] static uint64_t parts_of(const std::vector<Facts>& all, bool* shares,
                                         std::string* why_not);
  [[nodiscard]] int sharers(const cuda::Device& device, const std::vector<Facts>& all) const;
  [[nodiscard]] int agree_on_places(core::Communicator& communicator, GpuTeam& team, Use use,
                                    const std::vector<Facts>& all, int wanted,
                                    std::string* why_not);
  void agree(core::Communicator& communicator, const std::string& mine, std::string* why_not);
  void prepare(core::Communicator& communicator, GpuTeam& team, GpuTeam::Scratch wanted,
               std::string* why_not, std::vector<int>* islands);
  [[nodiscard]] bool takes_more(Use use) const noexcept;
  [[nodiscard]] std::vector<int> find_islands(core::Communicator& communicator,
                                              const GpuTeam& team);
  void dissolve(core::Communicator& communicator, const std::shared_ptr<GpuTeam>& team);
  [[nodiscard]] bool add_multicast(core::Communicator& communicator, GpuTeam& team, int places);
  [[nodiscard]] static std::string why_no_multicast(const GpuTeam& team, const Params& params);
  void agree_on_lines(core::Communicator& communicator, const std::vector<Facts>& all,
                      const topo::NvLinks& links, uint64_t parts, GpuTeam& team);

  Executions& executions_;
  std::vector<std::shared_ptr<GpuTeam>> all_;
};

}  // namespace tern::coll
