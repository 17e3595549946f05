// SPDX-License-Identifier: Apache-2.0
// GpuTeams: the teams of a channel, and the rounds in which ranks make or find a team.
// Lifetime: the channel's. A team outlives its communicator, because peers' streams may still write
// to the scratch; the next communicator of the same ranks reuses the team.
// Threads: under the channel's lock. Errors: if a rank fails, all ranks learn the reason.
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
  enum class Use : uint8_t { kEnqueued, kOrdinary };
  /// From kMostForOrdinary teams on, blocking calls get no further team, because scratch outlives
  /// communicators.
  static constexpr int kMostForOrdinary = 8;
  /// lease() is collective, and returns an idle or new team, or null with *why_not on all ranks. If
  /// some ranks cannot map each other's memory, *islands maps each rank to the lowest rank of its
  /// group of GPUs with peer access (topo/islands.hpp). Throws Error, std::bad_alloc.
  [[nodiscard]] std::shared_ptr<GpuTeam> lease(core::Communicator& communicator, Use use,
                                               cuda::Device* device, std::string* why_not,
                                               std::vector<int>* islands = nullptr);
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
