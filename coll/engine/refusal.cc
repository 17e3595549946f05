// SPDX-License-Identifier: Apache-2.0
// Refusals: numbering, deferral and handling of notices.
#include "coll/engine/refusal.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/failed_member.hpp"
#include "mpi.h"
#include "mpix.h"

namespace tern::coll {
namespace {

// A refusing rank skips kTagsApart tags, so messages of calls begun on other ranks match no later
// call. If all ranks refuse, tags stay equal.
constexpr uint32_t kTagsApart = 5003;
constexpr int kFollowed = 16;
// kLongest ns pass before a deferred refusal is sent; kWaits is the longest counted gap between
// polls.
constexpr int64_t kLongest = 1'000'000'000, kLongestLater = 5 * kLongest, kWaits = 20'000'000;

// CollectiveNumbers::Count::recent has a byte per call, newest lowest: four bits collective, one
// bit blocking, three low bits of the root.
constexpr int kBitsOfOne = 8;
constexpr uint64_t kBlockingBit = 1 << 4, kRootBits = 7 << 5, kNoCall = 15;
static_assert(kCollectives <= kNoCall);

uint64_t bits_of(CallKind kind) noexcept {
  return static_cast<uint64_t>(kind.collective) | (kind.blocking ? kBlockingBit : 0) |
         (static_cast<uint64_t>(kind.root) << 5 & kRootBits);
}
CallKind kind_of(uint64_t bits) noexcept {
  return {static_cast<Collective>(bits & 15), (bits & kBlockingBit) != 0,
          static_cast<int>((bits & kRootBits) >> 5)};
}
/// The groups of an inter-communicator number roots differently.
bool match(CallKind one, CallKind other, const core::Communicator& comm) noexcept {
  const uint64_t ignored = comm.inter() ? kRootBits : 0;
  return (bits_of(one) | ignored) == (bits_of(other) | ignored);
}
std::string words_of(CallKind kind, const core::Communicator& comm) {
  const bool known = rooted(kind.collective) && !comm.inter() && comm.size() <= 8;
  const std::string root = known ? strf(" of root %d", kind.root) : "";
  return strf("a %s %s%s", kind.blocking ? "blocking" : "nonblocking", name_of(kind.collective),
              root.c_str());
}

bool behind(uint32_t one, uint32_t other) noexcept { return static_cast<int32_t>(one - other) < 0; }

int others(const core::Communicator& comm) noexcept {
  return comm.size() - 1 + (comm.inter() ? comm.peer_count() : 0);
}

CallNumber number_of(const Notice& notice) noexcept {
  return {notice.number, notice.persistent != 0};
}

int class_of_cause(int code) noexcept {
  return code == MPI_ERR_PROC_ABORTED || code == MPIX_ERR_PROC_FAILED ? code : MPI_ERR_OTHER;
}

Notice make_notice(Notice::Says says, CallNumber number, int rank, const Failure& why) {
  Notice notice{says, number.value, number.persistent ? 1U : 0U, rank, {}, 0, {}};
  notice.error = class_of_cause(why.code);
  why.text.copy(notice.why, sizeof notice.why - 1);
  return notice;
}

/// Each member hears of a death, and ends its collectives itself.
bool all_know(const Failure& why) noexcept { return why.code == MPIX_ERR_PROC_FAILED; }

RefusalState& trouble_of(CommRefusals& state) {
  if (state.trouble == nullptr) state.trouble = std::make_unique<RefusalState>();
  return *state.trouble;
}

uint32_t next(const core::Communicator& comm, bool persistent) noexcept {
  return comm.numbers.of(persistent).next;
}

bool has_come(const core::Communicator& comm, const Notice& notice) noexcept {
  return behind(notice.number, next(comm, notice.persistent != 0));
}

}  // namespace

Refusals::Refusals(core::Channel& channel, UnderWay& under_way) noexcept
    : channel_(channel),
      process_(channel.process),
      under_way_(under_way),
      byte_(&core::predefined_type(process_, MPI_BYTE)) {}

Refusals::~Refusals() {
  for (const NoticeInFlight& told : in_flight_)
    for (core::Request* const request : told.sends) request->release();
}

CallNumber Refusals::take_number(core::Communicator& comm, bool persistent,
                                 uint64_t bits) noexcept {
  const auto take = [&](core::CollectiveNumbers::Count& count) noexcept {
    count.recent = count.recent << kBitsOfOne | bits;
    return CallNumber{count.next++, persistent};
  };
  return persistent ? take(comm.numbers.persistent) : take(comm.numbers.started);
}

CallNumber Refusals::next_number(core::Communicator& comm, bool persistent,
                                 CallKind kind) noexcept {
  return take_number(comm, persistent, bits_of(kind));
}

void Refusals::refuse(core::Communicator& comm, bool persistent, const Failure& why,
                      std::optional<CallKind> deferred) noexcept {
  const core::ChannelLock lock(channel_.progress);
  try {
    if (deferred && others(comm) != 0) {
      defer(under_way_.state_of(comm), {persistent, *deferred, why, now_ns(), 0});
    } else {
      drop_deferred(under_way_.state_of(comm), persistent);
      refuse_call(comm, take_number(comm, persistent, kNoCall), why);
    }
  } catch (const std::exception&) {
    log_line("no memory to record this rank's refusal of a collective");
  }
  channel_.progress.poll();  // frees notices in a program without other MPI calls
}

void Refusals::refuse(core::Communicator& comm, bool persistent, int code,
                      std::optional<CallKind> deferred) noexcept {
  LastError last = take_last_error();
  const Failure why{code, std::move(last.text)};
  refuse(comm, persistent, why, deferred);
  (void)fail_on(last.object, code, "%s", why.text.c_str());
}

void Refusals::defer(CommRefusals& state, RefusalState::Deferred refusal) {
  const auto& trouble = state.trouble;
  if (trouble != nullptr && trouble->deferred &&
      trouble->deferred->persistent == refusal.persistent) {
    refusal.waited = trouble->deferred->waited;
    refusal.followed =
        std::max(1, trouble->deferred->followed);  // unknown which refusal is replaced
  }
  drop_deferred(state, refusal.persistent);
  troubled_ = true;
  trouble_of(state).deferred = std::move(refusal);
  ++deferred_;
  channel_.progress.stay_awake(1);
}

// waited_long() counts only time in MPI, because a computing rank may still call the replacing
// collective.
bool Refusals::waited_long(CommRefusals& state) noexcept {
  if (state.trouble == nullptr || !state.trouble->deferred) return false;
  RefusalState::Deferred& deferred = *state.trouble->deferred;
  const int64_t now = now_ns();
  deferred.waited += std::min(now - deferred.seen, kWaits);
  deferred.seen = now;
  return deferred.waited > (deferred.followed == 0 ? kLongest : kLongestLater);
}

// A call replaces only a refused call of its own kind.
void Refusals::drop_deferred(CommRefusals& state, bool persistent) noexcept {
  if (state.trouble == nullptr || !state.trouble->deferred) return;
  const RefusalState::Deferred& refused = *state.trouble->deferred;
  if (refused.persistent != persistent && refused.followed == 0) return tell_deferred(state);
  state.trouble->deferred.reset();
  --deferred_;
  channel_.progress.stay_awake(-1);
}

void Refusals::make_up(CommRefusals& state, bool persistent, CallKind kind) {
  if (state.trouble == nullptr || !state.trouble->deferred) return;
  RefusalState::Deferred& refused = *state.trouble->deferred;
  if (refused.persistent != persistent) {
    if (refused.followed == 0) tell_deferred(state);
    return;
  }
  refused.waited = 0;
  core::Communicator& comm = state.communicator;
  const bool tells = refused.followed != 0 || !match(refused.kind, kind, comm);
  Notice notice = make_notice(Notice::Says::kInstead, {next(comm, persistent), persistent},
                              comm.rank(), refused.why);
  notice.kind = kind;
  if (++refused.followed == kFollowed) drop_deferred(state, persistent);
  if (tells) tell_all(comm, notice);
}

void Refusals::compare(CommRefusals& state, const RefusalState::Heard& heard) {
  core::Communicator& comm = state.communicator;
  const Notice& notice = heard.notice;
  const bool persistent = notice.persistent != 0;
  const uint32_t age = next(comm, persistent) - 1 - notice.number;
  if (age >= 64 / kBitsOfOne) return;
  const uint64_t own =
      comm.numbers.of(persistent).recent >> age * kBitsOfOne & ((1 << kBitsOfOne) - 1);
  if (own == kNoCall || match(kind_of(own), notice.kind, comm)) return;
  end_collectives(
      state, failure(MPI_ERR_OTHER,
                     "rank %d%s refused a call (%s) and went on with %s, but this rank called %s",
                     comm.named(notice.rank), heard.across ? " of the other group" : "", notice.why,
                     words_of(notice.kind, comm).c_str(), words_of(kind_of(own), comm).c_str()));
  core::Communicator& on = comm.inter() && !heard.across ? *comm.side : comm;
  send(tell(make_notice(Notice::Says::kTakesPart, number_of(notice), comm.rank(), {})), on,
       notice.rank);
}

void Refusals::tell_deferred(CommRefusals& state) noexcept {
  if (state.trouble == nullptr || !state.trouble->deferred) return;
  const RefusalState::Deferred deferred = *std::exchange(state.trouble->deferred, std::nullopt);
  --deferred_;
  channel_.progress.stay_awake(-1);
  refuse_call(state.communicator, take_number(state.communicator, deferred.persistent, kNoCall),
              deferred.why);
}

// tell_waiting() sends kAbsent if calls have followed the refusal: the rank may still enter the
// next call.
void Refusals::tell_waiting(CommRefusals& state) {
  RefusalState::Deferred& refused = *state.trouble->deferred;
  if (refused.followed == 0) return tell_deferred(state);
  refused.waited = 0;
  core::Communicator& comm = state.communicator;
  const CallNumber number{next(comm, refused.persistent), refused.persistent};
  tell_all(comm, make_notice(Notice::Says::kAbsent, number, comm.rank(), refused.why));
}

void Refusals::freeing(const core::Communicator& comm) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (comm.coll == nullptr) return;
  auto& state = static_cast<CommRefusals&>(*comm.coll);
  tell_deferred(state);
}

void Refusals::refuse_call(core::Communicator& comm, CallNumber number,
                           const Failure& why) noexcept {
  if (others(comm) == 0 || comm.fate.dead_locked() || all_know(why)) return;
  comm.numbers.tags += kTagsApart;
  try {
    CommRefusals& state = under_way_.state_of(comm);
    if (!state.fate.dead_locked()) {
      state.shares_memory = false;
      troubled_ = true;
      trouble_of(state).refused.push_back({number, 0});
      const char* const name = error_class_name(why.code);
      const std::string text = why.text.empty() && name != nullptr ? name : why.text;
      tell_all(comm, make_notice(Notice::Says::kRefuses, number, comm.rank(), {why.code, text}));
    }
  } catch (const std::exception&) {
    log_line("no memory to notify the other ranks of this rank's refusal of a collective");
  }
}

// Other communicators handle notices at their first collective.
void Refusals::look() noexcept {
  const bool fresh = channel_.refusals != heard_;
  heard_ = channel_.refusals;
  deaths_ = process_.deaths.count();
  troubled_ = true;
  send_unsent();
  for (CommRefusals* state = states_; state != nullptr;) {
    const uint64_t forgotten = left_;
    CommRefusals* const following = state->following;
    try {
      if (deferred_ != 0 && waited_long(*state)) tell_waiting(*state);
      end_with_failed(*state);
      hear(*state, fresh);
    } catch (const std::bad_alloc&) {
      --heard_;  // retry at the next poll
    }
    state = forgotten == left_ ? following : states_;  // the following state may be gone
  }
}

void Refusals::hear(CommRefusals& state, bool fresh) {
  core::Communicator& comm = state.communicator;
  if (comm.fate.dead_locked()) return;
  struct Kept {
    explicit Kept(core::Communicator& one) noexcept : communicator(one) { ++one.pending; }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { communicator.operation_ended(); }
    core::Communicator& communicator;
  } const kept(comm);
  while (fresh && receive(state, comm, comm.inter())) continue;
  while (fresh && comm.inter() && comm.side && receive(state, *comm.side, false)) continue;
  if (state.trouble == nullptr) return;
  std::list<RefusalState::Coming>& coming = state.trouble->coming;
  for (auto one = coming.begin(); one != coming.end();) {
    const auto come = one++;
    if (come->request->done()) take_one(state, come);
  }
  reconsider(state, next(comm, false), next(comm, true));
}

// Unmatched receives are cancelled at once.
bool Refusals::receive(CommRefusals& state, core::Communicator& on, bool across) {
  std::list<RefusalState::Coming>& coming = trouble_of(state).coming;
  RefusalState::Coming& one = coming.emplace_back(RefusalState::Coming{nullptr, across, {}});
  const pml::Envelope from{&on, MPI_ANY_SOURCE, pml::kRefusalTag, pml::Plane::kCollective};
  const int code =
      channel_.pml->irecv_locked({&one.notice, sizeof one.notice, byte_}, from, &one.request);
  if (code != MPI_SUCCESS) {
    (void)take_last_error();
    coming.pop_back();
    return false;
  }
  if (!one.request->done()) one.request->cancel_locked();
  if (!one.request->done() || !one.request->outcome.cancelled) {
    ++waiting_;
    ++state.communicator.pending;
    return true;
  }
  one.request->release();
  coming.pop_back();
  return false;
}

void Refusals::take_one(CommRefusals& state, std::list<RefusalState::Coming>::iterator come) {
  take(state, {come->notice, come->across}, has_come(state.communicator, come->notice));
  come->request->release();
  state.trouble->coming.erase(come);
  --waiting_;
  --state.communicator.pending;
}

// take() acts on a notice, and stores a notice about a later call, which this rank may refuse too.
void Refusals::take(CommRefusals& state, const RefusalState::Heard& heard, bool come) {
  core::Communicator& comm = state.communicator;
  RefusalState& trouble = trouble_of(state);
  const Notice& notice = heard.notice;
  const CallNumber number = number_of(notice);
  const char* const where = heard.across ? " of the other group" : "";
  if (notice.says == Notice::Says::kInstead) {
    if (come) return compare(state, heard);
    if (state.fate.dead_locked()) return;
    trouble.heard.push_back(heard);
    ++waiting_;
    return;
  }
  if (notice.says == Notice::Says::kTakesPart)
    return end_collectives(
        state, failure(MPI_ERR_OTHER, "rank %d%s took part in a collective refused by this rank",
                       comm.named(notice.rank), where));
  // A rank in a later call does not wait in this call.
  if (notice.says == Notice::Says::kAbsent &&
      (!come || behind(notice.number + 1, next(comm, notice.persistent != 0))))
    return;
  const auto same =
      std::find_if(trouble.refused.begin(), trouble.refused.end(),
                   [&](const RefusalState::Refused& own) { return own.number == number; });
  if (same != trouble.refused.end()) {
    if (notice.says == Notice::Says::kAbsent) return;
    if (++same->others == others(comm)) trouble.refused.erase(same);
    return;
  }
  if (!state.fate.dead_locked() && !come) {
    trouble.heard.push_back(heard);
    ++waiting_;
    under_way_.hear(
        comm, strf("rank %d%s takes no part: %s", comm.named(notice.rank), where, notice.why));
    return;
  }
  core::Communicator& on = comm.inter() && !heard.across ? *comm.side : comm;
  send(tell(make_notice(Notice::Says::kTakesPart, number, comm.rank(), {})), on, notice.rank);
  end_collectives(state, failure(class_of_cause(notice.error), "rank %d%s takes no part: %s",
                                 comm.named(notice.rank), where, notice.why));
}

void Refusals::reconsider(CommRefusals& state, uint32_t next, uint32_t next_persistent) {
  if (state.trouble == nullptr) return;
  std::vector<RefusalState::Heard>& heard = state.trouble->heard;
  for (size_t i = 0; i < heard.size();) {
    const RefusalState::Heard one = heard[i];
    const bool come =
        one.notice.says == Notice::Says::kInstead
            ? has_come(state.communicator, one.notice)
            : behind(one.notice.number, one.notice.persistent != 0 ? next_persistent : next);
    if (!state.fate.dead_locked() && !come) {
      ++i;
      continue;
    }
    take(state, one, come);
    heard.erase(heard.begin() + static_cast<ptrdiff_t>(i));
    --waiting_;
  }
}

void Refusals::end(core::Communicator& comm, const std::string& why) noexcept {
  const core::ChannelLock lock(channel_.progress);
  troubled_ = true;
  try {
    end_collectives(under_way_.state_of(comm), {MPI_ERR_OTHER, why});
  } catch (const std::exception&) {
    log_line("no memory to end the collectives of a communicator");
  }
}

void Refusals::end_collectives(CommRefusals& state, const Failure& why) {
  if (state.fate.dead_locked()) return;
  core::Communicator& comm = state.communicator;
  if (state.trouble != nullptr && state.trouble->deferred) {
    state.trouble->deferred.reset();
    --deferred_;
    channel_.progress.stay_awake(-1);
  }
  Failure error = why;
  if (!comm.fate.dead_locked() && why.code != MPIX_ERR_PROC_FAILED)
    error.text +=
        strf(". No collective of %s works any more; MPI_Comm_dup makes a working communicator",
             comm.name.or_words("this communicator").c_str());
  state.fate.end(error);
  state.shares_memory = false;
  under_way_.refuse(comm, why, error);
  if (process_.threaded()) channel_.progress.wake();
}

// Calls in flight end with their messages, and new calls fail at entry.
void Refusals::interrupt(core::Communicator& comm) noexcept {
  troubled_ = true;
  if (comm.coll == nullptr) return;
  try {
    auto& state = static_cast<CommRefusals&>(*comm.coll);
    end_collectives(state, comm.fate.reason());
  } catch (const std::bad_alloc&) {
    log_line("no memory to end the collectives of an interrupted communicator");
  }
}

void Refusals::end_with_failed(CommRefusals& state) {
  if (state.fate.dead_locked() || !state.communicator.has_failed_member()) return;
  end_collectives(state, core::death_in(state.communicator));
}

Failure Refusals::settle(core::Communicator& comm, bool persistent, CallKind kind) noexcept {
  if (comm.fate.dead_locked()) return comm.fate.reason();
  if (comm.coll == nullptr && process_.deaths.count() == 0) return {};
  try {
    CommRefusals& state = under_way_.state_of(comm);
    end_with_failed(state);
    make_up(state, persistent, kind);
    reconsider(state, next(comm, false) + (persistent ? 0 : 1),
               next(comm, true) + (persistent ? 1 : 0));
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory to handle another rank's refusal");
  }
  return static_cast<const CommRefusals&>(*comm.coll).fate.reason();
}

int Refusals::over(core::Communicator& comm, CallNumber number) noexcept {
  if (TERN_UNLIKELY(comm.fate.dead_locked())) return comm.fate.fail();
  const auto* const state = static_cast<const CommRefusals*>(comm.coll.get());
  if (TERN_LIKELY(state == nullptr || !state->fate.dead_locked())) return MPI_SUCCESS;
  const Failure why = state->fate.reason();
  try {
    if (!all_know(why))
      tell_all(comm, make_notice(Notice::Says::kRefuses, number, comm.rank(), why));
  } catch (const std::bad_alloc&) {
    log_line("no memory to notify the other ranks of a persistent collective not started");
  }
  return state->fate.fail();
}

void Refusals::broken_off(core::Communicator& comm, CallNumber number,
                          const Failure& why) noexcept {
  if (comm.fate.dead_locked() || all_know(why)) return;
  try {
    tell_all(comm, make_notice(Notice::Says::kRefuses, number, comm.rank(), why));
  } catch (const std::bad_alloc&) {
    log_line("no memory to notify the other ranks of this rank's refusal of a collective");
  }
}

void Refusals::enter(CommRefusals& state) noexcept {
  state.following = states_;
  if (states_ != nullptr) states_->previous = &state;
  states_ = &state;
}

void Refusals::catch_up(CommRefusals& state) {
  if (TERN_LIKELY(channel_.refusals == 0)) return;
  try {
    hear(state, true);
  } catch (const std::bad_alloc&) {
    --heard_;  // retry at the next poll
    throw;
  }
}

void Refusals::leave(CommRefusals& state) noexcept {
  ++left_;
  if (state.trouble != nullptr) {
    waiting_ -= state.trouble->heard.size() + state.trouble->coming.size();
    for (const RefusalState::Coming& one : state.trouble->coming) one.request->release();
    drop_deferred(state, state.trouble->deferred && state.trouble->deferred->persistent);
  }
  (state.previous == nullptr ? states_ : state.previous->following) = state.following;
  if (state.following != nullptr) state.following->previous = state.previous;
}

}  // namespace tern::coll
