// SPDX-License-Identifier: Apache-2.0
// FlatQueue: exchange of slabs, writing ahead, reading in order.
#include "coll/flat/queue.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/engine/executions.hpp"
#include "core/peer.hpp"

namespace tern::coll {
namespace {

// Rounds without events before asking for a ring, which costs writers a cache line.
constexpr uint32_t kTimeout = 50;
constexpr uint64_t kAhead = 3;  // epochs prefetched
// Bits beside the slab number:
constexpr uint32_t kCannotGet = 1U << 31;
constexpr uint32_t kMedium = 1U << 29, kLarge = 2U << 29, kSizes = 3U << 29;

uint32_t size_of(const Lane& lane) noexcept {
  if (lane.room() <= kSmallFlightLane.room()) return 0;
  return lane.room() <= kMediumFlightLane.room() ? kMedium : kLarge;
}

std::string words_of_size(uint32_t number) {
  const size_t small = kSmallFlightLane.room(), medium = kMediumFlightLane.room();
  const uint32_t size = number & kSizes;
  if (size == 0) return strf("at most %zu bytes", small);
  return size == kMedium ? strf("%zu to %zu bytes", small + 1, medium)
                         : strf("more than %zu bytes", medium);
}

}  // namespace

void FlatQueue::QueuedCalls::add(FlatCall& call) noexcept {
  call.next_ = nullptr;
  (first == nullptr ? first : last->next_) = &call;
  last = &call;
}

FlatQueue::FlatQueue(QueueOwner& owner, core::Communicator& communicator, const Lane& lane) noexcept
    : owner_(owner), channel_(communicator.channel()), communicator_(communicator), lane_(lane) {}

FlatQueue::~FlatQueue() {
  const bool ended = channel_.coll == nullptr;
  if (!ended) owner_.unlist(*this);
  if (slab_ == nullptr) return;
  if (!ended)
    owner_.retire(std::move(slab_));
  else
    slab_->forget();
}

void FlatQueue::push(FlatCall& call) noexcept {
  if (TERN_UNLIKELY(cannot(call))) return schedules_.add(call);
  calls_.add(call);
  if (calls_.first == &call) awaited_ = 0;
  if (state_ == State::kNew) meet();
  if (TERN_UNLIKELY(state_ != State::kMet)) return;
  call.begin(slab_->lane());
  if (writing_ == nullptr) writing_ = &call;
  int events = 0;
  write_ahead(&events);
}

bool FlatQueue::cannot(const FlatCall& call) const noexcept {
  if (state_ == State::kMet) return call.method_ == FlatMethod::kDirect && !gets_;
  return state_ == State::kSchedules;
}

void FlatQueue::meet() noexcept {
  state_ = State::kMeeting;
  try {
    all_.resize(static_cast<size_t>(communicator_.size()));
    const bool small = lane_.end() <= core::Slabs::kSmallBytes;
    const bool large = lane_.room() == kLargeFlightLane.room();
    slab_ =
        owner_.make_slab(communicator_, small ? Slab::Size::kSmall : Slab::Size::kLarge, &lane_);
    mine_ = slab_->introduction();
    if (large && mine_ != core::Slabs::kNone && !slab_->can_get()) mine_ |= kCannotGet;
    if (mine_ != core::Slabs::kNone) mine_ |= size_of(lane_);
    const FlatCall& first = *calls_.first;
    meeting_ = owner_.executions().begin_exchange(communicator_, &mine_, all_.data(),
                                                  name_of(first.operation().collective),
                                                  first.number(), first.sequence());
  } catch (const std::exception&) {
    refuse_first(MPI_ERR_NO_MEM, "no memory for the shared slabs");
    state_ = State::kSchedules;
    sort();
  }
}

void FlatQueue::refuse_first(int code, const std::string& why) noexcept {
  owner_.executions().refusals().refuse_call(communicator_, calls_.first->number(),
                                             failure(code, "%s", why.c_str()));
  calls_.first->take_error(failure(code, "%s", why.c_str()));
}

void FlatQueue::sort() noexcept {
  QueuedCalls able;
  for (FlatCall* call = calls_.first; call != nullptr;) {
    FlatCall& one = *std::exchange(call, call->next_);
    (cannot(one) ? schedules_ : able).add(one);
  }
  calls_ = able;
}

void FlatQueue::meet_slabs() noexcept {
  if (std::find(all_.begin(), all_.end(), core::Slabs::kNone) != all_.end()) {
    slab_.reset();
    return owner_.lacks_slabs(communicator_);
  }
  gets_ = true;
  for (size_t rank = 0; rank < all_.size(); ++rank) {
    if (TERN_UNLIKELY((all_[rank] & kSizes) != size_of(lane_)))
      return refuse_first(
          MPI_ERR_TRUNCATE,
          strf("different sizes: rank %d passes %s, but rank %zu %s", communicator_.rank(),
               words_of_size(size_of(lane_)).c_str(), rank, words_of_size(all_[rank]).c_str()));
    gets_ &= (all_[rank] & kCannotGet) == 0;
    all_[rank] &= ~(kCannotGet | kSizes);
  }
  try {
    slab_->meet(all_);
    slab_->reach(0, communicator_.size());
    timeout_ = slab_->crowded() ? 0 : kTimeout;
    state_ = State::kMet;
  } catch (const std::exception& error) {
    refuse_first(MPI_ERR_NO_MEM,
                 strf("no access to the shared memory of the ranks: %s", error.what()));
  }
}

void FlatQueue::end_meeting() noexcept {
  const bool over = meeting_->outcome.error != MPI_SUCCESS ||
                    static_cast<const CommRefusals&>(*communicator_.coll).fate.dead_locked();
  meeting_->release();
  meeting_ = nullptr;
  state_ = State::kSchedules;
  if (!over) meet_slabs();
  sort();
  for (FlatCall* call = calls_.first; call != nullptr; call = call->next_)
    call->begin(slab_->lane());
  writing_ = calls_.first;
}

void FlatQueue::advance(FlatCall** ended, int* events) noexcept {
  if (TERN_UNLIKELY(state_ == State::kMeeting)) {
    if (!meeting_->done()) return;
    ++*events;
    end_meeting();
  }
  if (TERN_UNLIKELY(schedules_.first != nullptr)) advance_schedules(ended, events);
  if (TERN_UNLIKELY(state_ != State::kMet)) return;
  int moved = advance_epochs(ended);
  // Posts before the question ring no bell. The last look before a sleep may have reset fruitless_.
  const bool asks = moved == 0 && (++fruitless_ > timeout_ || channel_.progress.is_before_sleep());
  if (asks && ask_the_late()) moved = advance_epochs(ended);
  if (asks && moved == 0) moved = end_if_lost(ended);
  if (moved != 0) fruitless_ = 0;
  *events += moved;
}

int FlatQueue::advance_epochs(FlatCall** ended) noexcept {
  int moved = 0, before = 0;
  do {
    before = moved;
    write_ahead(&moved);
    read_in_order(ended, &moved);
  } while (moved != before);
  return moved;
}

// A call that waits to read does not block later calls' writes.
void FlatQueue::write_ahead(int* events) noexcept {
  Slots& slots = slab_->lane();
  no_room_ = Slots::kNoRank;
  for (FlatCall* call = writing_; call != nullptr; call = call->next_) {
    FlatEpochs& epochs = call->epochs_;
    while (epochs.can_write()) {
      no_room_ = epochs.writes() ? slots.late_for_room(epochs.to_write()) : Slots::kNoRank;
      if (no_room_ != Slots::kNoRank) return;
      epochs.write(slots);
      ++*events;
    }
    if (writing_ == call && epochs.all_written()) writing_ = call->next_;
  }
}

void FlatQueue::read_in_order(FlatCall** ended, int* events) noexcept {
  Slots& slots = slab_->lane();
  while (calls_.first != nullptr) {
    FlatCall& call = *calls_.first;
    FlatEpochs& epochs = call.epochs_;
    while (epochs.can_read()) {
      const Parts::Sources sources = epochs.sources();
      const uint64_t epoch = epochs.to_read();
      awaited_ = std::max(awaited_, sources.first);
      while (awaited_ < sources.end) {
        const int rank = epochs.source(sources, awaited_);
        if (rank != slots.rank() && !slots.posted(rank, epoch)) break;
        ++awaited_;  // this rank's part is written or absent
      }
      if (awaited_ < sources.end) return;
      const uint64_t fills = epochs.fills();
      if (fills != FlatEpochs::kNoEpoch) {
        no_room_ = slots.late_for_room(fills);
        if (no_room_ != Slots::kNoRank) return;
      }
      if (epoch + kAhead <= epochs_ && !sources.named)
        slots.prefetch(sources.first, sources.end, epoch + kAhead);
      const int code = epochs.read(slots);
      if (TERN_UNLIKELY(code != MPI_SUCCESS)) call.take_error({code, take_last_error().text});
      awaited_ = 0;
      ++*events;
    }
    if (!epochs.all_read()) return;
    calls_.first = call.next_;
    if (TERN_UNLIKELY(writing_ == &call)) writing_ = call.next_;
    if (TERN_UNLIKELY(epochs.found_device() && !call.blocking_)) {
      call.become_schedule();
      schedules_.add(call);
      continue;
    }
    call.end_epochs();
    call.next_ = *ended;
    *ended = &call;
  }
}

int FlatQueue::late_source() const noexcept {
  if (calls_.first == nullptr || !calls_.first->epochs_.can_read()) return Slots::kNoRank;
  const FlatEpochs& epochs = calls_.first->epochs_;
  const Parts::Sources sources = epochs.sources();
  return awaited_ >= sources.end ? Slots::kNoRank : epochs.source(sources, awaited_);
}

// The awaited ranks will ring, so this rank can sleep.
bool FlatQueue::ask_the_late() noexcept {
  Slots& slots = slab_->lane();
  bool asked = false;
  if (no_room_ != Slots::kNoRank && no_room_ != slots.rank()) asked = slots.ask(no_room_);
  const int late = late_source();
  if (late != Slots::kNoRank && late != slots.rank()) asked |= slots.ask(late);
  return asked;
}

int FlatQueue::end_if_lost(FlatCall** ended) noexcept {
  for (const int late : {no_room_, late_source()}) {
    if (late == Slots::kNoRank || late == slab_->lane().rank() || !slab_->has_lost(late)) continue;
    const Failure why = slab_->lost(late);
    for (const FlatCall* call = calls_.first; call != nullptr; call = call->next_)
      owner_.executions().refusals().broken_off(communicator_, call->number(), why);
    refuse(why, ended);
    return 1;
  }
  return 0;
}

void FlatQueue::advance_schedules(FlatCall** ended, int* events) noexcept {
  QueuedCalls left;
  for (FlatCall *call = schedules_.first, *next = nullptr; call != nullptr; call = next) {
    next = call->next_;
    if (!call->advance_schedule()) {
      left.add(*call);
      continue;
    }
    ++*events;
    call->end_epochs();
    call->next_ = *ended;
    *ended = call;
  }
  schedules_ = left;
}

void FlatQueue::describe(const FlatCall& call, WaitReport* report) const {
  if (meeting_ != nullptr) {
    report->words += ": ";
    return meeting_->describe(report);
  }
  if (state_ != State::kMet) return;
  int late = late_source();
  if (late == Slots::kNoRank) late = no_room_;
  if (late == Slots::kNoRank) return;
  report->words += strf(&call == calls_.first ? ": rank %d has not joined"
                                              : ": rank %d has not joined an earlier call",
                        late);
  core::report_wait_for(communicator_.peer(late), report);
}

void FlatQueue::refuse(const Failure& why, FlatCall** ended) noexcept {
  if (state_ != State::kMet) return;  // schedules fail by themselves
  writing_ = nullptr;
  slab_->lane().go_to(epochs_);  // peers may still read posts
  for (FlatCall* call = std::exchange(calls_.first, nullptr); call != nullptr;) {
    FlatCall* const following = call->next_;
    call->take_error(failure(why.code, "%s", why.text.c_str()));
    call->end_epochs();
    call->next_ = std::exchange(*ended, call);
    call = following;
  }
}

}  // namespace tern::coll
