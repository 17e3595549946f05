// SPDX-License-Identifier: Apache-2.0
// Refusal: a rank that cannot take part in a collective tells all others, so that none waits for
// it: arguments that it alone refuses, no memory, a peer that it cannot reach, calls that do not
// match.
// Protocol. Every collective of a communicator has a number, equal on all ranks; one that is
// refused has one, too. The refusal names it. A rank that has refused the same call is content:
// where all have, the next call is again one of all ranks. A rank that takes part in that call
// answers so; for both, and for all ranks that they fail, the communicator's collectives are over:
// those in flight and those to come end with an error that names rank and reason. Messages go on,
// and so does what is made of it: MPI_Comm_dup is the cure. A rank that has refused a call uses
// shared memory no more on that communicator, whose epochs it cannot follow without the call's
// size; messages carry the number. Only buffers that share memory are told later: programs look on
// one rank whether that is found, and go on (MPICH's tests noalias to noalias3), so the next
// collective takes the number. If other ranks took part in the refused call their numbers are ahead
// from then on. So the rank tells all others which calls follow (not the first, if it is the same
// call again, in order): a rank with another call of that number ends the communicator's
// collectives. It is told as a refusal when the communicator is freed, or after a second in which
// the rank waits for something else; if calls have followed, after five, and only a rank that waits
// in the next call takes that for one. Sixteen calls later it is forgotten. A rank that cannot be
// told is tried again for some seconds; then the job ends. Cost: a count of such messages that the
// pml keeps, read by each poll. Threads: under the channel's lock. See: tests/mpi/coll_refused.c.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fate.hpp"
#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"
#include "core/process.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

/// Which collective of a communicator. Persistent ones are numbered as they are made.
struct CallNumber {
  uint32_t value = 0;
  bool persistent = false;
  bool operator==(const CallNumber&) const = default;
};

/// Travels as it is.
struct Notice {
  // kInstead: the call that takes this number, after a refusal whose number was not told.
  // kAbsent: after such a refusal the rank waits for something else, and has not come to this call.
  enum class Says : uint32_t { kRefuses, kTakesPart, kInstead, kAbsent };
  Says says;
  uint32_t number, persistent;  // of the call
  int32_t rank;                 // that says it, in its group
  CallKind kind;                // kInstead: the call
  char why[164];                // the error, as far as it fits
};

/// One that is on its way.
struct Told {
  Notice notice;
  std::vector<core::Request*> sends;
};

/// One that could not be sent, and will be tried again.
struct Untold {
  Notice notice;
  core::Communicator* on;  // kept
  int rank;
  int64_t since, tried;  // now_ns()
};

/// What a communicator knows of refusals.
struct Trouble {
  struct Refused {
    CallNumber number;
    int others;  // who have refused it, too
  };
  struct Heard {
    Notice notice;
    bool across;  // of the other group
  };
  /// A refusal that was told to no rank yet. Calls that follow take its number and those behind it:
  /// as many as `followed`.
  struct Deferred {
    bool persistent;
    CallKind kind;
    Failure why;
    int64_t seen, waited;  // ns: at the last poll, and in polls that followed each other
    int followed = 0;
  };
  /// A notice on its way in: it may be announced before its data comes.
  struct Coming {
    core::Request* request;
    bool across;
    Notice notice;
  };
  std::list<Coming> coming;
  std::optional<Deferred> deferred;
  std::vector<Refused> refused;  // by this rank, and not by all others as far as is known
  std::vector<Heard> heard;      // of calls to which this rank has not come
};

/// The refusals of a communicator, from the first collective on.
struct CommRefusals : core::CollState {
  explicit CommRefusals(core::Communicator& owner) noexcept : communicator(owner) {}

  core::Communicator& communicator;
  Fate fate;                         // dead: no collective works any more
  bool shares_memory = false;        // all ranks see each other's slabs, as far as is known
  std::unique_ptr<Trouble> trouble;  // null: none
  CommRefusals *previous = nullptr, *following = nullptr;  // of the channel
};

class Refusals;

/// What a channel has under way, for those who end it. Coll implements it.
class UnderWay {
 public:
  /// Made at the communicator's first collective, or refusal. Throws std::bad_alloc.
  [[nodiscard]] virtual CommRefusals& state_of(core::Communicator& communicator) = 0;
  /// Every collective of the communicator ends with this error; the others learn the reason by
  /// broken_off().
  virtual void refuse(core::Communicator& communicator, const std::string& why,
                      const std::string& error) noexcept = 0;
  /// A rank takes no part in a collective that this one has not begun: what is in streams waits.
  virtual void hear(core::Communicator& communicator, const std::string& why) noexcept = 0;

 protected:
  ~UnderWay() = default;
};

/// The refusals of one channel's communicators.
class Refusals {
 public:
  Refusals(core::Channel& channel, UnderWay& under_way) noexcept;
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;
  ~Refusals();

  /// Takes the number of the next collective.
  [[nodiscard]] static CallNumber next_number(core::Communicator& communicator, bool persistent,
                                              CallKind kind) noexcept;
  /// This rank takes no part in the communicator's next collective. `deferred`: this collective,
  /// unless the next one makes up for it.
  TERN_COLD void refuse(core::Communicator& communicator, bool persistent, const Failure& why,
                        std::optional<CallKind> deferred) noexcept;
  /// The same for the reason of the last fail(), which stays.
  TERN_COLD void refuse(core::Communicator& communicator, bool persistent, int code,
                        std::optional<CallKind> deferred) noexcept;
  /// No collective of the communicator works any more on this rank. Others hear of those under way
  /// alone. No lock is held.
  TERN_COLD void end(core::Communicator& communicator, const std::string& why) noexcept;
  /// The communicator's last call is past.
  void freeing(const core::Communicator& communicator) noexcept;

  // With the channel's lock held.
  /// The same as refuse(), of a call that has its number.
  TERN_COLD void refuse_call(core::Communicator& communicator, CallNumber number,
                             const Failure& why) noexcept;
  /// Whether a communicator has heard of a refusal; then settle() goes before each call.
  [[nodiscard]] bool troubled() const noexcept { return troubled_; }
  /// Before a call takes its number: an error where another rank refuses it.
  [[nodiscard]] TERN_COLD Failure settle(core::Communicator& communicator, bool persistent,
                                         CallKind kind) noexcept;
  /// Before a persistent call is started: an error, here and for all who start it, where the
  /// communicator's collectives are over.
  [[nodiscard]] int over(core::Communicator& communicator, CallNumber number) noexcept;
  /// The communicator was interrupted: its collectives end here, and no other rank is told.
  TERN_COLD void interrupt(core::Communicator& communicator) noexcept;
  /// A call that was under way ends: the others must not wait for it.
  TERN_COLD void broken_off(core::Communicator& communicator, CallNumber number,
                            const std::string& why) noexcept;
  /// A communicator is to have its first collective; and has gone.
  void enter(CommRefusals& state) noexcept;
  void leave(CommRefusals& state) noexcept;
  /// Its first collective may have been refused before it entered. Throws std::bad_alloc.
  void catch_up(CommRefusals& state);
  /// Whether look() has something to do.
  [[nodiscard]] bool is_asked_to_look() const noexcept {
    return channel_.refusals != heard_ || waiting_ + deferred_ != 0;
  }
  /// Receives, sends again, tells what was deferred.
  TERN_COLD void look() noexcept;
  [[nodiscard]] bool all_told() const noexcept { return untold_.empty(); }

 private:
  [[nodiscard]] static CallNumber take_number(core::Communicator& communicator, bool persistent,
                                              uint64_t bits) noexcept;
  // Those that send or receive throw std::bad_alloc.
  void tell_all(core::Communicator& communicator, const Notice& notice);
  Told& tell(const Notice& notice);
  void send(Told& told, core::Communicator& on, int rank);
  [[nodiscard]] bool try_to_send(Told& told, core::Communicator& on, int rank);
  /// False if no more is there.
  [[nodiscard]] bool receive(CommRefusals& state, core::Communicator& on, bool across);
  void take_one(CommRefusals& state, std::list<Trouble::Coming>::iterator come);
  /// `fresh`: messages may have come.
  void hear(CommRefusals& state, bool fresh);
  void tell_untold() noexcept;
  [[nodiscard]] bool try_again(Untold& one) noexcept;
  /// `come`: this rank has come to the call.
  void take(CommRefusals& state, const Trouble::Heard& heard, bool come);
  /// Takes what was heard of calls before these numbers.
  void reconsider(CommRefusals& state, uint32_t next, uint32_t next_persistent);
  TERN_COLD void end_collectives(CommRefusals& state, const std::string& why);
  void defer(CommRefusals& state, Trouble::Deferred refusal);
  /// Its next collective takes the number of a deferred refusal.
  void make_up(CommRefusals& state, bool persistent, CallKind kind);
  /// Another rank's call of that number is to be the same as this rank's, which may just begin.
  void compare(CommRefusals& state, const Trouble::Heard& heard);
  void drop_deferred(CommRefusals& state, bool persistent) noexcept;
  [[nodiscard]] bool waited_long(CommRefusals& state) noexcept;
  void tell_deferred(CommRefusals& state) noexcept;
  void tell_waiting(CommRefusals& state);

  core::Channel& channel_;
  core::Process& process_;
  UnderWay& under_way_;
  core::Datatype* byte_;
  CommRefusals* states_ = nullptr;  // of all communicators that have one
  bool troubled_ = false;           // one of them is, or was
  uint64_t left_ = 0;               // states
  uint64_t heard_ = 0;              // of channel_.refusals
  size_t deferred_ = 0;             // refusals that are not told yet
  size_t waiting_ = 0;              // heard, of calls that are still to come
  std::list<Told> told_;            // on their way
  std::vector<Untold> untold_;
};

}  // namespace tern::coll
