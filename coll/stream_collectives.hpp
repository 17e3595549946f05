// SPDX-License-Identifier: Apache-2.0
// StreamCollectives: collectives in GPU streams, and their teams. Threads: any; the functions lock
// the channel, unless marked "lock-free".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/context.hpp"
#include "coll/gpu/teams.hpp"
#include "coll/gpu/way.hpp"

namespace tern::coll {

class StreamCollectives {
 public:
  explicit StreamCollectives(Context& context) noexcept
      : context_(context), teams_(context.executions) {}

  /// prepare() is collective. *islands: see GpuTeams::lease.
  [[nodiscard]] Failure prepare(core::Communicator& communicator, cuda::Device* device,
                                std::vector<int>* islands = nullptr) noexcept;
  /// All ranks call first_duplicate() before a duplicate is made. Returns whether the duplicate is
  /// the first. Sends no message.
  [[nodiscard]] static bool first_duplicate(const core::Communicator& communicator) noexcept;
  [[nodiscard]] Failure prepare_duplicate(const core::Communicator& communicator,
                                          core::Communicator& made) noexcept;
  /// team_of() returns null before prepare().
  [[nodiscard]] static std::shared_ptr<GpuTeam> team_of(
      const core::Communicator& communicator) noexcept;
  /// wire_taken() returns the last collective's wire (a value of TERN_GPU_WIRE, or "copies"), null
  /// before the first. Lock-free.
  [[nodiscard]] static const char* wire_taken(const core::Communicator& communicator) noexcept;
  [[nodiscard]] static std::string why_no_team(const core::Communicator& communicator);
  /// fail_if_over() is lock-free.
  [[nodiscard]] int fail_if_over(const core::Communicator& communicator) const noexcept;
  /// relate() propagates stream failures to `other`, which has some of the ranks.
  static void relate(core::Communicator& communicator, const core::Communicator& other);
  /// enqueue() does not wait for the stream, and stages pageable memory. If *taken is false, all
  /// ranks need another path because of *why_not.
  [[nodiscard]] int enqueue(const Operation& operation, cuda::Stream& stream, bool* taken,
                            std::string* why_not) noexcept;
  /// `plan`: the choice of a blocking call that follows a plan.
  [[nodiscard]] Failure put_into(CommState& state, GpuTeam& team, const Operation& operation,
                                 cuda::Job& job, bool* taken, std::string* why_not,
                                 const Choice* plan = nullptr);
  TERN_COLD static void forsake_teams(const core::Communicator& communicator,
                                      const std::string& why) noexcept;
  [[nodiscard]] GpuTeams& teams() noexcept { return teams_; }

 private:
  struct Chosen {
    const Placed* placed = nullptr;
    Way way;
  };
  [[nodiscard]] static bool is_over(const core::Communicator& communicator) noexcept;
  [[nodiscard]] int fail_over(CommState& state) const noexcept;
  [[nodiscard]] Chosen choose_way(CommState& state, GpuTeam& team, const Operation& operation,
                                  cuda::Job& job, const Choice* plan, std::string* why_not);
  [[nodiscard]] const Placed* placed_for(CommState& state, GpuTeam& team,
                                         const Operation& operation, const Question& question,
                                         const Choice& choice, std::string* why_not);
  [[nodiscard]] static Failure why_useless(GpuTeam& team);
  [[nodiscard]] Question question_in_stream(const GpuTeam& team, const AskedWire& asked,
                                            const Operation& operation, bool any_order,
                                            const char** no_multimem) const;
  [[nodiscard]] std::string in_words(const Way& way) const;
  [[nodiscard]] Failure run_in_stream(CommState& state, GpuTeam& team, const Placed& placed,
                                      const Operation& operation, const Way& way, cuda::Job& job);
  [[nodiscard]] Failure exchange_in_stream(CommState& state, GpuTeam& team,
                                           const Operation& operation, cuda::Job& job, bool* taken,
                                           std::string* why_not);
  [[nodiscard]] static Failure unless_failed(GpuTeam& team, Failure why);
  template <class Run>
  void explain_way(CommState& state, GpuTeam& team, const Placed& placed, const Way& way,
                   const Run& run);

  Context& context_;
  GpuTeams teams_;
};

}  // namespace tern::coll
