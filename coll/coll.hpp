// SPDX-License-Identifier: Apache-2.0
// Coll: the collectives of one channel: selection, cached schedules, executions under way.
// Life cycle: made by api::Runtime after the pml; ended before it, after the last collective.
// Threads: run() and the start functions from any thread; they take the channel's lock.
// Order: collectives of one communicator are numbered as they start, persistent ones as they are
// made; the number is part of their messages' tags. See: coll/README.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/comm_state.hpp"
#include "coll/engine/executions.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/places.hpp"
#include "coll/engine/refusal.hpp"
#include "coll/flat/device_links.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/flights.hpp"
#include "coll/flat/slots.hpp"
#include "coll/gpu/team.hpp"
#include "coll/gpu/way.hpp"
#include "coll/select/select.hpp"
#include "core/process.hpp"
#include "core/request.hpp"

namespace tern::coll {

class Coll final : UnderWay, ScheduleMaker {
 public:
  explicit Coll(core::Channel& channel);
  Coll(const Coll&) = delete;
  Coll& operator=(const Coll&) = delete;
  ~Coll();

  /// Blocking. Returns an error class with fail() text.
  [[nodiscard]] int run(const Operation& operation) noexcept;
  /// Nonblocking: *request has a handle and one reference for the caller.
  [[nodiscard]] int start(const Operation& operation, core::Request** request) noexcept;
  /// Persistent: bound, to be started any number of times (MPI_Start).
  [[nodiscard]] int init(const Operation& operation, core::Request** request) noexcept;

  /// What is put into streams (coll_enqueue.cc). Together with all ranks: prepares the communicator
  /// for it. `device`: of this rank's stream; null: it has none.
  /// *islands: as of GpuTeams::lease.
  [[nodiscard]] int prepare_enqueue(core::Communicator& communicator, cuda::Device* device,
                                    std::vector<int>* islands = nullptr) noexcept;
  /// A duplicate is about to be made, on all ranks: whether it is the first. No message is sent.
  [[nodiscard]] static bool first_duplicate(const core::Communicator& communicator) noexcept;
  /// The first one gets the twin of the communicator's team, if there is one.
  [[nodiscard]] int prepare_duplicate(const core::Communicator& communicator,
                                      core::Communicator& made) noexcept;
  /// Of a communicator so prepared; null where its ranks have none.
  [[nodiscard]] static std::shared_ptr<GpuTeam> team_of(
      const core::Communicator& communicator) noexcept;
  /// By which wire the last enqueued collective went between its devices: a word of TERN_GPU_WIRE,
  /// or "copies"; null where none has. No lock is held.
  [[nodiscard]] static const char* wire_taken(const core::Communicator& communicator) noexcept;
  /// Why it has none.
  [[nodiscard]] static std::string why_no_team(const core::Communicator& communicator);
  /// A rank takes no part in a collective, or the communicator was interrupted. No lock is held.
  [[nodiscard]] static bool is_over(const core::Communicator& communicator) noexcept;
  /// An error where it is. No lock is held.
  [[nodiscard]] int fail_if_over(const core::Communicator& communicator) const noexcept;
  /// What is said of a communicator's streams is said of those of another with some of its ranks,
  /// too.
  static void relate(core::Communicator& communicator, const core::Communicator& other);
  /// Puts an operation on such a communicator into a stream, without waiting for the stream;
  /// pageable memory goes through its stage. Not *taken: all ranks must use another way, *why_not.
  [[nodiscard]] int enqueue(const Operation& operation, cuda::Stream& stream, bool* taken,
                            std::string* why_not) noexcept;

  /// The communicator was interrupted: its collectives end with an error. Lock held.
  TERN_COLD void interrupt(core::Communicator& communicator) noexcept {
    forsake_teams(communicator, "the communicator was interrupted");
    refusals_.interrupt(communicator);
  }

  /// What a persistent request of init() does each time; null for others.
  [[nodiscard]] static const Operation* operation_of(const core::Request& request) noexcept;

  /// From now on several threads may call.
  void admit_threads() noexcept {
    executions_.admit_threads();
    flights_.admit_threads();
  }
  /// From now on this algorithm serves its operation wherever it can.
  void force(const Algorithm& algorithm) noexcept { selector_.force(algorithm); }
  /// How to find the host of a rank of the world.
  void set_hosts(Places::HostOf host_of) noexcept { places_.set_hosts(host_of); }
  void set_parts(Places::PartOf part_of) noexcept { places_.set_parts(part_of); }

  [[nodiscard]] Refusals& refusals() noexcept { return refusals_; }
  [[nodiscard]] const ScheduleCache& cache() const noexcept { return executions_.cache(); }
  /// No peer reads a slab any more whose communicator is gone, nor is to hear of a refusal. Lock
  /// held.
  [[nodiscard]] bool all_read() noexcept { return flights_.all_read() && refusals_.all_told(); }

 private:
  static int poll(void* self) noexcept;
  // Each takes the call's question as question_of() gives it, once for a call; choose() adds what
  // the communicator knows. `shared`: the choice is that of ranks which share memory.
  // `islands`: it is one of devices, and goes by the communicator's islands where it has some.
  [[nodiscard]] int prepare(const Operation& operation, const Question& question, bool shared,
                            bool islands, Execution** made) noexcept;
  [[nodiscard]] CommState& state_of(core::Communicator& communicator) override;
  TERN_COLD void refuse(core::Communicator& communicator, const std::string& why,
                        const std::string& error) noexcept override;
  TERN_COLD void hear(core::Communicator& communicator, const std::string& why) noexcept override;
  [[nodiscard]] int run_instead(const Operation& operation, CallNumber number, uint32_t sequence,
                                Execution** made) noexcept override;
  [[nodiscard]] const Choice& choose(CommState& state, const Operation& operation,
                                     Question question, bool shared,
                                     bool islands = false) const noexcept;
  [[nodiscard]] static const Levels* levels_of(const CommState& state, bool islands) noexcept {
    return islands && state.islands != nullptr ? state.islands : state.levels;
  }
  [[nodiscard]] static std::shared_ptr<CachedSchedule> neighborhood_of(CommState& state,
                                                                       const Algorithm& algorithm,
                                                                       const Operation& operation);
  [[nodiscard]] int run_schedule(const Operation& operation, const Question& question, bool shared,
                                 CallNumber number) noexcept;
  // coll_flat.cc: blocking collectives of ranks that share memory.
  [[nodiscard]] static bool may_be_flat(const CommState& state, const Operation& operation,
                                        const Question& question) noexcept;
  /// kDone: *code is the result. Else a schedule must do it, by kNotFlat none that selection would
  /// take for memory that ranks share: all come to the same.
  enum class Ran : uint8_t { kDone, kNotYet, kNotFlat };
  /// What it throws is that this rank cannot go on: Error, std::bad_alloc.
  Ran run_flat(const Operation& operation, const Question& question, int* code);
  /// kNotYet: no rank has device memory, or it is too little. Throws std::bad_alloc.
  Ran run_on_device(const Operation& operation, const Question& question, Slots& slots, int* code);
  /// `where`: ranks tell first where their data lies, and nothing is done unless all have it here;
  /// null: they do not.
  [[nodiscard]] static int run_in_slots(const Operation& operation, FlatMethod method, Slots& slots,
                                        Elsewhere* where = nullptr);
  /// The slab that it needs, made by all ranks together at the first use; null: some rank has no
  /// room for them. Throws Error.
  Slab* slab_for(CommState& state, Slab::Size size, const char* name);
  Slots* slots_for(CommState& state, const Question& question, const Choice& choice);
  // coll_enqueue.cc
  TERN_COLD static void forsake_teams(const core::Communicator& communicator,
                                      const std::string& why) noexcept;
  [[nodiscard]] int fail_over(CommState& state) const noexcept;
  /// `placed` null: nothing serves, with *why_not.
  struct Chosen {
    const Placed* placed = nullptr;
    Way way;
  };
  [[nodiscard]] Chosen choose_way(CommState& state, GpuTeam& team, const Operation& operation,
                                  cuda::Job& job, std::string* why_not);
  [[nodiscard]] int put_into(CommState& state, GpuTeam& team, const Operation& operation,
                             cuda::Job& job, bool* taken, std::string* why_not);
  [[nodiscard]] const Placed* placed_for(CommState& state, GpuTeam& team,
                                         const Operation& operation, const Question& question,
                                         const Choice& choice, std::string* why_not);
  [[nodiscard]] static int fail_if_useless(GpuTeam& team);
  /// *no_multimem: why_not_multicast().
  [[nodiscard]] Question question_in_stream(const GpuTeam& team, const AskedWire& asked,
                                            const Operation& operation, bool any_order,
                                            const char** no_multimem) const;
  [[nodiscard]] std::string in_words(const Way& way) const;
  [[nodiscard]] int run_in_stream(CommState& state, GpuTeam& team, const Placed& placed,
                                  const Operation& operation, const Way& way, cuda::Job& job);
  [[nodiscard]] int exchange_in_stream(CommState& state, GpuTeam& team, const Operation& operation,
                                       cuda::Job& job, bool* taken, std::string* why_not);
  [[nodiscard]] static int unless_failed(GpuTeam& team, int code);
  template <class Run>
  void explain_way(CommState& state, GpuTeam& team, const Placed& placed, const Way& way,
                   const Run& run);
  // coll_team.cc: blocking collectives of memory on devices whose ranks are a team.
  /// Whether ranks ask each other where their data lies. Alike on all of them.
  [[nodiscard]] bool may_use_team(const CommState& state, const Operation& operation,
                                  const Question& question) const noexcept;
  /// kNotYet: it must be done another way, which all ranks find alike, nothing is done. Throws
  /// Error, std::bad_alloc.
  Ran run_on_team(const Operation& operation, const Question& question, FlatMethod method,
                  Slots& slots, int* code);
  Ran run_on_team(CommState& state, const Operation& operation, cuda::Job job, int* code);
  [[nodiscard]] cuda::Job job_for_team(CommState& state, const Operation& operation) noexcept;
  [[nodiscard]] bool becomes_quiet(CommState& state, cuda::Device& device) noexcept;
  [[nodiscard]] bool has_own_team(CommState& state, cuda::Device& device);
  void await_team(CommState& state, const Operation& operation, cuda::Job& job, uint32_t call);
  [[noreturn]] TERN_COLD void leave_team(CommState& state, cuda::Job& job, int code,
                                         const std::string& why);
  // coll_flight.cc: nonblocking and persistent ones.
  /// *made: bound, without a handle; null where it takes a schedule.
  [[nodiscard]] int prepare_flight(const Operation& operation, const Question& question,
                                   bool persistent, FlatCall** made) noexcept;
  [[nodiscard]] FlatCall* bound_flight(const Operation& operation, const Question& question,
                                       bool persistent);
  /// Blocking, where that is large. Throws Error, std::bad_alloc.
  Ran run_in_flight(const Operation& operation, const Question& question, CallNumber number,
                    int* code);
  /// In which of the communicator's queues: by kinds of lanes.
  enum class Flight : uint8_t { kSmall, kMedium, kLarge, kNone };
  [[nodiscard]] static Flight flight_of(const CommState& state, const Operation& operation,
                                        const Question& question, bool persistent) noexcept;
  /// One of the two, with a handle.
  [[nodiscard]] int make(const Operation& operation, bool persistent, FlatCall** call,
                         Execution** execution) noexcept;
  template <class Made>
  [[nodiscard]] int hand_out(Made* made) noexcept;
  [[nodiscard]] bool shares_memory(const core::Communicator& communicator) const noexcept;
  TERN_COLD void lack(CommState& state, Slab::Size size);
  /// Begins to measure, and says the first of each choice.
  TERN_COLD Measured* explain(CommState& state, const Question& question, const Choice& choice);

  core::Channel& channel_;
  core::Process& process_;
  Selector selector_;
  Places places_;
  bool checks_ = false;  // TERN_CHECK=collective
  Refusals refusals_;
  Executions executions_;
  Flights flights_;
  DeviceLinks device_links_;
  GpuTeams teams_;
};

[[nodiscard]] std::unique_ptr<Coll> make(core::Channel& channel);

/// What selection asks about an operation.
[[nodiscard]] Question question_of(const Operation& operation) noexcept;

}  // namespace tern::coll
