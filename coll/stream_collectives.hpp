// SPDX-License-Identifier: Apache-2.0
// StreamCollectives: collectives that are put into streams of GPUs, and the teams that serve them.
// Lifetime: Coll. Threads: any; the functions take the channel's lock where they need it.
// See: coll/gpu/README.md.
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

  /// Together with all ranks: prepares the communicator. `device`: of this rank's stream; null: it
  /// has none. *islands: as of GpuTeams::lease.
  [[nodiscard]] Failure prepare(core::Communicator& communicator, cuda::Device* device,
                                std::vector<int>* islands = nullptr) noexcept;
  /// A duplicate is about to be made, on all ranks: whether it is the first. No message is sent.
  [[nodiscard]] static bool first_duplicate(const core::Communicator& communicator) noexcept;
  /// The first one gets the twin of the communicator's team, if there is one.
  [[nodiscard]] Failure prepare_duplicate(const core::Communicator& communicator,
                                          core::Communicator& made) noexcept;
  /// Of a communicator so prepared; null where its ranks have none.
  [[nodiscard]] static std::shared_ptr<GpuTeam> team_of(
      const core::Communicator& communicator) noexcept;
  /// By which wire the last enqueued collective went between its devices: a word of TERN_GPU_WIRE,
  /// or "copies"; null where none has. No lock is held.
  [[nodiscard]] static const char* wire_taken(const core::Communicator& communicator) noexcept;
  /// Why it has none.
  [[nodiscard]] static std::string why_no_team(const core::Communicator& communicator);
  /// An error where a rank takes no part in a collective, or the communicator was interrupted. No
  /// lock is held.
  [[nodiscard]] int fail_if_over(const core::Communicator& communicator) const noexcept;
  /// What is said of a communicator's streams is said of those of another with some of its ranks,
  /// too.
  static void relate(core::Communicator& communicator, const core::Communicator& other);
  /// Puts an operation on such a communicator into a stream, without waiting for the stream;
  /// pageable memory goes through its stage. Not *taken: all ranks must use another way, *why_not.
  [[nodiscard]] int enqueue(const Operation& operation, cuda::Stream& stream, bool* taken,
                            std::string* why_not) noexcept;
  /// As enqueue(), with a team and a job of its device.
  [[nodiscard]] Failure put_into(CommState& state, GpuTeam& team, const Operation& operation,
                                 cuda::Job& job, bool* taken, std::string* why_not);
  TERN_COLD static void forsake_teams(const core::Communicator& communicator,
                                      const std::string& why) noexcept;
  [[nodiscard]] GpuTeams& teams() noexcept { return teams_; }

 private:
  /// `placed` null: nothing serves, with *why_not.
  struct Chosen {
    const Placed* placed = nullptr;
    Way way;
  };
  [[nodiscard]] static bool is_over(const core::Communicator& communicator) noexcept;
  [[nodiscard]] int fail_over(CommState& state) const noexcept;
  [[nodiscard]] Chosen choose_way(CommState& state, GpuTeam& team, const Operation& operation,
                                  cuda::Job& job, std::string* why_not);
  [[nodiscard]] const Placed* placed_for(CommState& state, GpuTeam& team,
                                         const Operation& operation, const Question& question,
                                         const Choice& choice, std::string* why_not);
  [[nodiscard]] static Failure why_useless(GpuTeam& team);
  /// *no_multimem: why_not_multicast().
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
