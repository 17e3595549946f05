// SPDX-License-Identifier: Apache-2.0
// Refusal: a rank that cannot take part in a collective (arguments, memory, an unreachable peer)
// notifies all others, so no rank waits for the refusing rank.
//
// Protocol. Every collective of a communicator, even if refused, takes a number, equal on all
// ranks. If every rank refuses the call, the communicator stays usable. A rank inside the call
// replies kTakesPart, and both ranks end all collectives of the communicator with an error naming
// rank and reason. Messages still work: MPI_Comm_dup is the cure. After a refusal the rank uses no
// shared memory on the communicator, because the epochs depend on the call's size.
//
// Deferred refusals. After a refusal of aliased buffers on one rank (MPICH's tests noalias to
// noalias3), the next collective takes the refused number. Ranks inside the refused call run ahead,
// so the rank announces its following calls (except a repetition of the refused call), and a
// mismatch ends the communicator's collectives. The refusal is sent when the communicator is freed,
// or after the rank has waited one second in another MPI call. If calls have followed, the rank
// sends kAbsent after five seconds, which only ranks waiting in the next call treat as a refusal.
// After sixteen calls the refusal is dropped.
//
// Errors: a failed send is retried for five seconds, then the job aborts.
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

struct CallNumber {
  uint32_t value = 0;
  bool persistent = false;
  bool operator==(const CallNumber&) const = default;
};

struct Notice {
  // kInstead: the sender deferred a refusal, then made a call of kind `kind` under `number`.
  // kAbsent: after a deferred refusal the rank waits in another MPI call.
  enum class Says : uint32_t { kRefuses, kTakesPart, kInstead, kAbsent };
  Says says;
  uint32_t number, persistent;
  int32_t rank;  // sender's rank in its group
  CallKind kind;
  int32_t error;  // of a lost process, else MPI_ERR_OTHER
  char why[164];
};

struct NoticeInFlight {
  Notice notice;
  std::vector<core::Request*> sends;
};

struct UnsentNotice {
  Notice notice;
  core::Communicator* on;
  int rank;
  int64_t since, tried;
};

struct RefusalState {
  struct Refused {
    CallNumber number;
    int others;
  };
  struct Heard {
    Notice notice;
    bool across;  // sender is in the remote group
  };
  /// Deferred: the next `followed` calls take the refusal's number and later numbers.
  struct Deferred {
    bool persistent;
    CallKind kind;
    Failure why;
    int64_t seen, waited;
    int followed = 0;
  };
  struct Coming {
    core::Request* request;
    bool across;
    Notice notice;
  };
  std::list<Coming> coming;
  std::optional<Deferred> deferred;
  std::vector<Refused> refused;  // not yet refused by all ranks
  std::vector<Heard> heard;      // calls not reached yet
};

struct CommRefusals : core::CollState {
  explicit CommRefusals(core::Communicator& owner) noexcept : communicator(owner) {}

  core::Communicator& communicator;
  Fate fate;                              // dead: all collectives fail
  bool shares_memory = false;             // as far as known
  std::unique_ptr<RefusalState> trouble;  // null: no notice yet
  CommRefusals *previous = nullptr, *following = nullptr;
};

class Refusals;

class UnderWay {
 public:
  [[nodiscard]] virtual CommRefusals& state_of(core::Communicator& communicator) = 0;
  /// The caller of refuse() notifies the other ranks by broken_off().
  virtual void refuse(core::Communicator& communicator, const Failure& why,
                      const Failure& error) noexcept = 0;
  virtual void hear(core::Communicator& communicator, const std::string& why) noexcept = 0;

 protected:
  ~UnderWay() = default;
};

class Refusals {
 public:
  Refusals(core::Channel& channel, UnderWay& under_way) noexcept;
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;
  ~Refusals();

  [[nodiscard]] static CallNumber next_number(core::Communicator& communicator, bool persistent,
                                              CallKind kind) noexcept;
  /// `deferred` is the refused call, unless the next collective replaces it.
  TERN_COLD void refuse(core::Communicator& communicator, bool persistent, const Failure& why,
                        std::optional<CallKind> deferred) noexcept;
  TERN_COLD void refuse(core::Communicator& communicator, bool persistent, int code,
                        std::optional<CallKind> deferred) noexcept;
  /// end() notifies other ranks only about calls in flight. The caller does not hold the lock.
  TERN_COLD void end(core::Communicator& communicator, const std::string& why) noexcept;
  void freeing(const core::Communicator& communicator) noexcept;

  // The following functions need the lock.
  TERN_COLD void refuse_call(core::Communicator& communicator, CallNumber number,
                             const Failure& why) noexcept;
  /// After the first notice, settle() precedes each call.
  [[nodiscard]] bool troubled() const noexcept { return troubled_; }
  /// settle() runs before a call takes its number. Returns an error if another rank refuses the
  /// call.
  [[nodiscard]] TERN_COLD Failure settle(core::Communicator& communicator, bool persistent,
                                         CallKind kind) noexcept;
  /// over() runs before a persistent call starts, and fails the call if the collectives have ended.
  [[nodiscard]] int over(core::Communicator& communicator, CallNumber number) noexcept;
  TERN_COLD void interrupt(core::Communicator& communicator) noexcept;
  /// broken_off() tells the other ranks not to wait for an active call.
  TERN_COLD void broken_off(core::Communicator& communicator, CallNumber number,
                            const Failure& why) noexcept;
  void enter(CommRefusals& state) noexcept;
  void leave(CommRefusals& state) noexcept;
  /// catch_up() handles notices received before enter().
  void catch_up(CommRefusals& state);
  [[nodiscard]] bool is_asked_to_look() const noexcept {
    return channel_.refusals != heard_ || waiting_ + deferred_ != 0 ||
           process_.deaths.count() != deaths_;
  }
  TERN_COLD void look() noexcept;
  [[nodiscard]] bool all_told() const noexcept { return unsent_.empty(); }

 private:
  [[nodiscard]] static CallNumber take_number(core::Communicator& communicator, bool persistent,
                                              uint64_t bits) noexcept;
  void tell_all(core::Communicator& communicator, const Notice& notice);
  NoticeInFlight& tell(const Notice& notice);
  void send(NoticeInFlight& told, core::Communicator& on, int rank);
  [[nodiscard]] bool try_to_send(NoticeInFlight& told, core::Communicator& on, int rank);
  [[nodiscard]] bool receive(CommRefusals& state, core::Communicator& on, bool across);
  void take_one(CommRefusals& state, std::list<RefusalState::Coming>::iterator come);
  /// `fresh`: new notices may have arrived.
  void hear(CommRefusals& state, bool fresh);
  void send_unsent() noexcept;
  [[nodiscard]] bool try_again(UnsentNotice& one) noexcept;
  /// `come`: this rank has reached the call.
  void take(CommRefusals& state, const RefusalState::Heard& heard, bool come);
  /// Handles stored notices before these numbers.
  void reconsider(CommRefusals& state, uint32_t next, uint32_t next_persistent);
  TERN_COLD void end_collectives(CommRefusals& state, const Failure& why);
  void end_with_failed(CommRefusals& state);
  void defer(CommRefusals& state, RefusalState::Deferred refusal);
  void make_up(CommRefusals& state, bool persistent, CallKind kind);
  /// Another rank's call must match this rank's call of the same number.
  void compare(CommRefusals& state, const RefusalState::Heard& heard);
  void drop_deferred(CommRefusals& state, bool persistent) noexcept;
  [[nodiscard]] bool waited_long(CommRefusals& state) noexcept;
  void tell_deferred(CommRefusals& state) noexcept;
  void tell_waiting(CommRefusals& state);

  core::Channel& channel_;
  core::Process& process_;
  UnderWay& under_way_;
  core::Datatype* byte_;
  CommRefusals* states_ = nullptr;
  bool troubled_ = false;
  uint64_t left_ = 0;
  uint64_t heard_ = 0;
  uint32_t deaths_ = 0;  // known
  size_t deferred_ = 0;
  size_t waiting_ = 0;  // stored notices and failed sends
  std::list<NoticeInFlight> in_flight_;
  std::vector<UnsentNotice> unsent_;
};

}  // namespace tern::coll
