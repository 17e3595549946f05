// SPDX-License-Identifier: Apache-2.0
// Coll: the collectives of one channel: selection, cached schedules, executions under way.
// Life cycle: made by api::Runtime after the pml; ended before it, after the last collective.
// Threads: run() and the start functions from any thread; they take the channel's lock.
// Order: collectives of one communicator are numbered as they start, persistent ones as they are
// made; the number is part of their messages' tags. See: coll/README.md.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll/cache.hpp"
#include "coll/comm_state.hpp"
#include "coll/flat/slots.hpp"
#include "coll/operation.hpp"
#include "coll/places.hpp"
#include "coll/refusal.hpp"
#include "coll/select.hpp"
#include "core/process.hpp"
#include "core/request.hpp"
#include "pml/object_pool.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class Execution;
class FlatCall;
class FlatQueue;

class Coll {
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

  /// This rank takes no part in the communicator's next collective, for the reason of the last
  /// fail(), which stays. `deferred`: unless its next collective makes up for it.
  TERN_COLD void refuse(core::Communicator& communicator, bool persistent, int code,
                        bool deferred) noexcept;

  /// From now on several threads may call.
  void admit_threads() noexcept {
    pool_.set_threaded(true);
    calls_.set_threaded(true);
  }
  /// From now on this algorithm serves its operation wherever it can.
  void force(const Algorithm& algorithm) noexcept { selector_.force(algorithm); }
  /// How to find the host of a rank of the world.
  void set_hosts(Places::HostOf host_of) noexcept { places_.set_hosts(host_of); }
  void set_parts(Places::PartOf part_of) noexcept { places_.set_parts(part_of); }

  // For executions.
  [[nodiscard]] core::Channel& channel() const noexcept { return channel_; }
  [[nodiscard]] core::Process& process() const noexcept { return process_; }
  [[nodiscard]] pml::Pml& pml() const noexcept { return *channel_.pml; }
  [[nodiscard]] core::Datatype* byte_type() const noexcept { return byte_; }
  /// Launches a bound execution. Lock held.
  void go(Execution& execution) noexcept;
  void release(Execution& execution) noexcept;

  /// Takes the number of the next collective.
  [[nodiscard]] static CallNumber next_number(core::Communicator& communicator,
                                              bool persistent) noexcept;
  /// The same as refuse(), of a call that has its number. Lock held.
  TERN_COLD void refuse_call(core::Communicator& communicator, CallNumber number,
                             int code) noexcept;
  /// Before a persistent call is started: an error, here and for all who start it, where the
  /// communicator's collectives are over.
  [[nodiscard]] int over(core::Communicator& communicator, CallNumber number) noexcept;
  void forget(CommState& state) noexcept;
  /// The communicator's last call is past.
  void freeing(const core::Communicator& communicator) noexcept;

  [[nodiscard]] const ScheduleCache& cache() const noexcept { return cache_; }
  /// No peer reads a slab any more whose communicator is gone, nor is to hear of a refusal. Lock
  /// held.
  [[nodiscard]] bool all_read() noexcept {
    sweep(retired_.size());
    return retired_.empty() && untold_.empty();
  }
  /// The slab of a communicator that is gone.
  void retire(std::unique_ptr<Slab> slab) noexcept;

  // For calls in flight (coll/flat/queue.hpp).
  void release(FlatCall& call) noexcept;
  /// Polls the queue until it is empty.
  void list(FlatQueue& queue) noexcept;
  void unlist(const FlatQueue& queue) noexcept;
  /// A slab, or one without a number. Throws std::bad_alloc.
  [[nodiscard]] std::unique_ptr<Slab> make_slab(core::Communicator& communicator, Slab::Size size,
                                                const Lane* flight);
  /// Begins to gather one number of every rank, by messages: done when the execution is, which is
  /// to be released. Throws.
  [[nodiscard]] Execution* begin_exchange(core::Communicator& communicator, uint32_t* mine,
                                          uint32_t* all, const char* name, CallNumber number,
                                          uint32_t sequence);
  /// Some rank has no slab: those that others have made are of no use.
  TERN_COLD void lacks_slabs(const core::Communicator& communicator);
  /// Launches it as a schedule of this number.
  [[nodiscard]] int run_instead(const Operation& operation, CallNumber number, uint32_t sequence,
                                Execution** made) noexcept;

 private:
  static int poll(void* self) noexcept;
  // Each takes the call's question as question_of() gives it, once for a call; choose() adds what
  // the communicator knows. `shared`: the choice is that of ranks which share memory.
  [[nodiscard]] int prepare(const Operation& operation, const Question& question, bool shared,
                            Execution** made) noexcept;
  [[nodiscard]] Execution* acquire();
  [[nodiscard]] CommState& state_of(core::Communicator& communicator);
  [[nodiscard]] const Choice& choose(CommState& state, const Operation& operation,
                                     Question question, bool shared) const noexcept;
  [[nodiscard]] static std::shared_ptr<CachedSchedule> neighborhood_of(CommState& state,
                                                                       const Algorithm& algorithm,
                                                                       const Operation& operation);
  [[nodiscard]] int run_schedule(const Operation& operation, const Question& question, bool shared,
                                 CallNumber number) noexcept;
  /// With the communicator's own schedule where there is one. Throws std::bad_alloc.
  [[nodiscard]] Execution* bound(const Operation& operation, const Algorithm& algorithm,
                                 const Levels* levels, std::shared_ptr<CachedSchedule> own);
  /// Launches, waits, releases.
  [[nodiscard]] int complete(Execution* execution) noexcept;
  // coll/flat/run.cc: blocking collectives of ranks that share memory.
  [[nodiscard]] static bool may_be_flat(const CommState& state, const Operation& operation,
                                        const Question& question) noexcept;
  /// kDone: *code is the result. Else a schedule must do it, by kNotFlat none that selection would
  /// take for memory that ranks share: all come to the same.
  enum class Ran : uint8_t { kDone, kNotYet, kNotFlat };
  /// What it throws is that this rank cannot go on: Error, std::bad_alloc.
  Ran run_flat(const Operation& operation, const Question& question, int* code);
  /// kNotYet: no rank has device memory, or it is too little. Throws std::bad_alloc.
  Ran run_on_device(const Operation& operation, const Question& question, Slots& slots, int* code);
  [[nodiscard]] static int run_in_slots(const Operation& operation, FlatMethod way, Slots& slots);
  /// The slab that it needs, made by all ranks together at the first use; null: some rank has no
  /// room for them. Throws Error.
  Slab* slab_for(CommState& state, Slab::Size size, const char* name);
  Slots* slots_for(CommState& state, const Question& question, const Choice& choice);
  [[nodiscard]] Execution* bound_exchange(core::Communicator& communicator, uint32_t* mine,
                                          uint32_t* all, const char* name);
  /// One number of every rank, by messages. Throws Error.
  std::vector<uint32_t> exchange(core::Communicator& communicator, uint32_t mine, const char* name);
  // coll/flat/flight.cc: nonblocking and persistent ones.
  /// *made: bound, without a handle; null where it takes a schedule.
  [[nodiscard]] int prepare_flight(const Operation& operation, const Question& question,
                                   bool persistent, FlatCall** made) noexcept;
  [[nodiscard]] FlatCall* bound_flight(const Operation& operation, const Question& question,
                                       bool persistent);
  [[nodiscard]] bool may_fly(CommState& state, const Operation& operation,
                             const Question& question) const noexcept;
  [[nodiscard]] std::unique_ptr<FlatQueue> make_queue(core::Communicator& communicator,
                                                      const Lane& lane);
  void poll_flights(int* events) noexcept;
  /// One of the two, with a handle.
  [[nodiscard]] int make(const Operation& operation, bool persistent, FlatCall** call,
                         Execution** execution) noexcept;
  template <class Made>
  [[nodiscard]] int hand_out(Made* made) noexcept;
  [[nodiscard]] bool shares_memory(const core::Communicator& communicator) const noexcept;
  TERN_COLD void lack(CommState& state, Slab::Size size);
  /// Gives back what is not read any more, of so many that are retired.
  void sweep(size_t most) noexcept;
  // coll/refusal.cc. Those that send or receive throw std::bad_alloc.
  void tell_all(core::Communicator& communicator, const Notice& notice);
  Told& tell(const Notice& notice);
  void send(Told& told, core::Communicator& on, int rank);
  [[nodiscard]] bool try_to_send(Told& told, core::Communicator& on, int rank);
  /// False if no more is there.
  [[nodiscard]] bool receive(CommState& state, core::Communicator& on, bool across);
  void take_one(CommState& state, std::list<Trouble::Coming>::iterator come);
  /// `fresh`: messages may have come.
  void hear(CommState& state, bool fresh);
  void tell_untold() noexcept;
  [[nodiscard]] bool try_again(Untold& one) noexcept;
  TERN_COLD void look() noexcept;
  /// `come`: this rank has come to the call.
  void take(CommState& state, const Trouble::Heard& heard, bool come);
  /// Takes what was heard of calls before these numbers.
  void reconsider(CommState& state, uint32_t next, uint32_t next_persistent);
  TERN_COLD void end_collectives(CommState& state, const std::string& why);
  void defer(CommState& state, bool persistent, int code, const std::string& text);
  void drop_deferred(CommState& state, bool persistent) noexcept;
  [[nodiscard]] bool waited_long(CommState& state) noexcept;
  void tell_deferred(CommState& state) noexcept;
  /// Before a call takes its number: an error where another rank refuses it.
  [[nodiscard]] TERN_COLD int settle(core::Communicator& communicator, bool persistent) noexcept;
  /// Begins to measure, and says the first of each choice.
  TERN_COLD Measured* explain(CommState& state, const Question& question, const Choice& choice);

  core::Channel& channel_;
  core::Process& process_;
  core::Datatype* byte_;
  ScheduleCache cache_;
  Selector selector_;
  Places places_;
  bool checks_ = false;                         // TERN_CHECK=collective
  std::vector<std::unique_ptr<Slab>> retired_;  // peers may still read them
  size_t slabs_in_use_ = 0;                     // by communicators
  size_t swept_ = 0;                            // where the next look at them begins
  CommState* states_ = nullptr;                 // of all communicators that have one
  bool troubled_ = false;                       // one of them is, or was
  uint64_t forgotten_ = 0;
  uint64_t heard_ = 0;    // of channel_.refusals
  size_t deferred_ = 0;   // refusals that are not told yet
  size_t waiting_ = 0;    // heard, of calls that are still to come
  std::list<Told> told_;  // on their way
  std::vector<Untold> untold_;
  pml::ObjectPool<Execution> pool_;
  std::vector<Execution*> running_;  // has room for all of the pool
  std::vector<FlatQueue*> flights_;  // that are not empty; has room for all
  size_t queues_ = 0;
  pml::ObjectPool<FlatCall> calls_;
};

[[nodiscard]] std::unique_ptr<Coll> make(core::Channel& channel);

/// What selection asks about an operation.
[[nodiscard]] Question question_of(const Operation& operation) noexcept;

}  // namespace tern::coll
