// SPDX-License-Identifier: Apache-2.0
#include "io/range_lock.hpp"

#include <utility>

#include "core/channel.hpp"
#include "mpi.h"

namespace tern::io {

bool Ranges::take(int rank, int64_t from, int64_t to, bool writes) {
  for (const Held& other : held_)
    if (other.rank != rank && other.to > from && other.from < to && (writes || other.writes))
      return false;
  held_.push_back({rank, from, to, writes});
  return true;
}

void Ranges::release(int rank) noexcept {
  std::erase_if(held_, [rank](const Held& one) { return one.rank == rank; });
}

bool RangeLock::take_here() noexcept {
  const Question& range = inquiry_.question;
  meeting_.take_guard();
  holder_ = -1;
  const int self = meeting_.communicator().rank();
  for (const int rank : meeting_.locals()) {
    const RangeEntry& other = meeting_.board(rank)->range;
    if (rank == self || other.to.load() <= range.from || other.from.load() >= range.to) continue;
    if (range.writes == 0 && other.writes.load() == 0) continue;
    if (!meeting_.has_died(rank)) holder_ = rank;
  }
  if (holder_ < 0) {
    mine().from = range.from;
    mine().to = range.to;
    mine().writes = static_cast<uint32_t>(range.writes);
  }
  meeting_.drop_guard();
  return holder_ < 0;
}

void RangeLock::begin(int64_t from, int64_t to, bool writes) noexcept {
  inquiry_ = {};
  inquiry_.question.what = Question::Asks::kTake;
  inquiry_.question.writes = writes ? 1 : 0;
  inquiry_.question.from = from;
  inquiry_.question.to = to;
  state_ = State::kWaits;
}

bool RangeLock::taken() noexcept {
  if (state_ == State::kWaits) {
    if (mine().in_use.exchange(1, std::memory_order_acquire) != 0) return false;
    state_ = State::kAsks;
    if (!meeting_.on_one_host()) service_.begin(&inquiry_);
  }
  if (state_ == State::kAsks) {
    if (!(meeting_.on_one_host() ? take_here() : service_.answered(&inquiry_))) return false;
    state_ = State::kHeld;
  }
  return true;
}

void RangeLock::describe(WaitReport* report) const {
  report->words += strf("bytes %lld to %lld of a file in atomic mode",
                        static_cast<long long>(inquiry_.question.from),
                        static_cast<long long>(inquiry_.question.to));
  const core::Communicator& own = meeting_.communicator();
  if (!meeting_.on_one_host() && own.rank() != 0)
    report->wait_for(static_cast<int>(own.peer_index(0)));
  else if (holder_ >= 0)
    report->wait_for(static_cast<int>(own.peer_index(holder_)));
}

Failure RangeLock::take(int64_t from, int64_t to, bool writes) noexcept {
  if (from >= to) return {};
  constexpr int64_t kMostSleepUs = 1000;
  begin(from, to, writes);
  if (meeting_.on_one_host() && taken()) return {};
  core::Progress& progress = meeting_.communicator().channel().progress;
  const core::ChannelLock lock(progress);
  progress.wait([this] { return taken(); }, [this](WaitReport* report) { describe(report); },
                kMostSleepUs);
  return inquiry_.failed;
}

void RangeLock::release() noexcept {
  if (state_ == State::kFree) return;
  if (meeting_.on_one_host()) return release_locked();
  const core::ChannelLock lock(meeting_.communicator().channel().progress);
  release_locked();
}

void RangeLock::release_locked() noexcept {
  if (std::exchange(state_, State::kFree) != State::kHeld) return;
  if (meeting_.on_one_host()) {
    mine().to.store(0, std::memory_order_release);
    mine().from.store(0, std::memory_order_release);
    meeting_.wake_locals();
  } else if (!inquiry_.failed) {
    service_.release_range();
  }
  mine().in_use.store(0, std::memory_order_release);
}

}  // namespace tern::io
