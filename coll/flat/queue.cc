// SPDX-License-Identifier: Apache-2.0
// FlatQueue: meeting, writing ahead, reading in order.
#include "coll/flat/queue.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/flat/flights.hpp"
#include "core/peer.hpp"

namespace tern::coll {
namespace {

// Rounds that find nothing before the rank asks to be rung. Asking costs those who write a line.
constexpr uint32_t kPatience = 50;
constexpr uint64_t kAhead = 3;  // epochs from the one that is read to the one that is fetched

}  // namespace

FlatQueue::FlatQueue(Flights& flights, core::Communicator& communicator, const Lane& lane) noexcept
    : flights_(flights),
      channel_(communicator.channel()),
      communicator_(communicator),
      lane_(lane) {}

FlatQueue::~FlatQueue() {
  const bool ended = channel_.coll == nullptr;  // before this queue
  if (!ended) flights_.unlist(*this);
  if (slab_ == nullptr) return;
  if (!ended)
    flights_.retire(std::move(slab_));
  else
    slab_->forget();
}

void FlatQueue::push(FlatCall& call) noexcept {
  call.next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = &call;
  last_ = &call;
  if (first_ == &call) awaited_ = 0;
  if (state_ == State::kNew) meet();
  if (TERN_UNLIKELY(state_ != State::kMet)) return;
  call.begin(slab_->lane());
  if (writing_ == nullptr) writing_ = &call;
  int events = 0;
  write_ahead(&events);
}

void FlatQueue::meet() noexcept {
  state_ = State::kMeeting;
  try {
    all_.resize(static_cast<size_t>(communicator_.size()));
    const bool small = lane_.end() <= core::Slabs::kSmallBytes;
    slab_ =
        flights_.make_slab(communicator_, small ? Slab::Size::kSmall : Slab::Size::kLarge, &lane_);
    mine_ = slab_->number();
    meeting_ = flights_.executions().begin_exchange(communicator_, &mine_, all_.data(),
                                                    name_of(first_->operation_.collective),
                                                    first_->number_, first_->sequence_);
  } catch (const std::exception&) {
    state_ = State::kSchedules;
    refuse_first("no memory for what the ranks share");
  }
}

// All wait for this rank's slab.
void FlatQueue::refuse_first(const std::string& why) noexcept {
  (void)fail(MPI_ERR_NO_MEM, "%s", why.c_str());
  flights_.refusals().refuse_call(communicator_, first_->number_, MPI_ERR_NO_MEM);
  (void)take_last_error();
  first_->take_error(MPI_ERR_NO_MEM, why);
}

void FlatQueue::end_meeting() noexcept {
  const bool over = meeting_->outcome.error != MPI_SUCCESS ||
                    static_cast<const CommRefusals&>(*communicator_.coll).over();
  meeting_->release();
  meeting_ = nullptr;
  state_ = State::kSchedules;
  if (!over && std::find(all_.begin(), all_.end(), core::Slabs::kNone) == all_.end()) try {
      slab_->meet(all_);
      patience_ = slab_->crowded() ? 0 : kPatience;
      state_ = State::kMet;
    } catch (const std::exception& error) {
      return refuse_first(strf("no access to the memory that the ranks share: %s", error.what()));
    }
  if (state_ == State::kMet) return begin_calls();
  if (over) return;  // likewise
  slab_.reset();
  flights_.lacks_slabs(communicator_);
}

void FlatQueue::begin_calls() noexcept {
  for (FlatCall* call = first_; call != nullptr; call = call->next_) call->begin(slab_->lane());
  writing_ = first_;
}

void FlatQueue::advance(FlatCall** ended, int* events) noexcept {
  if (TERN_UNLIKELY(state_ == State::kMeeting)) {
    if (!meeting_->done()) return;
    ++*events;
    end_meeting();
  }
  if (TERN_UNLIKELY(state_ == State::kSchedules)) return advance_schedules(ended, events);
  int moved = advance_epochs(ended);
  // What came before the question rings no bell.
  if (moved == 0 && ++fruitless_ > patience_ && ask_the_late()) moved = advance_epochs(ended);
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

void FlatQueue::write_ahead(int* events) noexcept {
  Slots& slots = slab_->lane();
  for (; writing_ != nullptr; writing_ = writing_->next_) {
    const bool writes = writing_->parts_->writes();
    while (writing_->written_ < writing_->parts_->epochs()) {
      const uint64_t epoch = writing_->first_epoch_ + static_cast<uint64_t>(writing_->written_);
      no_room_ = writes ? slots.late_for_room(epoch) : Slots::kNoRank;
      if (no_room_ != Slots::kNoRank) return;
      writing_->write(slots);
      ++*events;
    }
  }
}

void FlatQueue::read_in_order(FlatCall** ended, int* events) noexcept {
  Slots& slots = slab_->lane();
  while (first_ != nullptr) {
    FlatCall& call = *first_;
    while (call.read_ < call.written_) {
      const Parts::Sources sources = call.parts_->sources();
      const uint64_t epoch = call.first_epoch_ + static_cast<uint64_t>(call.read_);
      awaited_ = std::max(awaited_, sources.first);
      while (awaited_ < sources.end && (awaited_ == slots.rank() || slots.posted(awaited_, epoch)))
        ++awaited_;  // the own part is written, or there is no part
      if (awaited_ < sources.end) return;
      if (epoch + kAhead <= epochs_) slots.prefetch(sources.first, sources.end, epoch + kAhead);
      call.read(slots);
      awaited_ = 0;
      ++*events;
    }
    if (!call.all_read()) return;
    first_ = call.next_;
    call.end();
    call.next_ = *ended;
    *ended = &call;
  }
}

// Once it sleeps it must hear of what it waits for: each of these ranks rings when it has done
// more.
bool FlatQueue::ask_the_late() noexcept {
  Slots& slots = slab_->lane();
  bool asked = false;
  if (writing_ != nullptr && no_room_ != slots.rank()) asked = slots.ask(no_room_);
  if (first_ == nullptr || first_->read_ == first_->written_) return asked;
  if (awaited_ != slots.rank()) asked |= slots.ask(awaited_);
  return asked;
}

void FlatQueue::advance_schedules(FlatCall** ended, int* events) noexcept {
  FlatCall* left = nullptr;
  last_ = nullptr;
  for (FlatCall *call = first_, *next = nullptr; call != nullptr; call = next) {
    next = call->next_;
    if (!call->advance_schedule()) {
      call->next_ = nullptr;
      (left == nullptr ? left : last_->next_) = call;
      last_ = call;
      continue;
    }
    ++*events;
    call->end();
    call->next_ = *ended;
    *ended = call;
  }
  first_ = left;
}

void FlatQueue::describe(const FlatCall& call, WaitReport* report) const {
  if (meeting_ != nullptr) return meeting_->describe(report);
  if (state_ != State::kMet) return;
  const FlatCall& first = *first_;
  int late = no_room_;
  if (first.read_ < first.written_ && awaited_ < first.parts_->sources().end) late = awaited_;
  if (late == Slots::kNoRank) return;
  report->words += strf(&call == &first ? ": rank %d has not come"
                                        : ": rank %d has not come to one that began before",
                        late);
  report->wait_for(static_cast<int>(communicator_.peer(late).rank));
}

void FlatQueue::refuse(const std::string& why, FlatCall** ended) noexcept {
  if (state_ != State::kMet) return;  // schedules, which fail by themselves
  writing_ = last_ = nullptr;
  slab_->lane().go_to(epochs_);  // what was written ahead may still be read
  for (FlatCall* call = std::exchange(first_, nullptr); call != nullptr;) {
    FlatCall* const following = call->next_;
    call->take_error(MPI_ERR_OTHER, why);
    call->end();
    call->next_ = std::exchange(*ended, call);
    call = following;
  }
}

}  // namespace tern::coll
