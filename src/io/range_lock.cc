// SPDX-License-Identifier: Apache-2.0
#include "io/range_lock.hpp"

#include "core/channel.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

bool conflict(const FileRange& one, const FileRange& other) noexcept {
  return one.to > other.from && one.from < other.to && (one.writes || other.writes);
}

}  // namespace

bool Ranges::take(int rank, const FileRange& range) {
  for (const Held& other : held_)
    if (other.rank != rank && conflict(other.range, range)) return false;
  held_.push_back({rank, range});
  return true;
}

void Ranges::release(int rank, const FileRange& range) noexcept {
  for (size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].rank != rank || held_[i].range.from != range.from || held_[i].range.to != range.to)
      continue;
    held_[i] = held_.back();
    held_.pop_back();
    return;
  }
}

void Ranges::release_all(int rank) noexcept {
  std::erase_if(held_, [&](const Held& one) { return one.rank == rank; });
}

bool RangeLock::take_here(const FileRange& range) noexcept {
  const int self = meeting_.communicator().rank();
  meeting_.take_guard();
  holder_ = -1;
  for (const int rank : meeting_.locals())
    for (const RangeEntry& other : meeting_.board(rank)->ranges) {
      const FileRange taken{other.from.load(), other.to.load(), other.writes.load() != 0};
      if (rank != self && conflict(taken, range) && !meeting_.has_died(rank)) holder_ = rank;
    }
  for (RangeEntry& own : meeting_.board(self)->ranges)
    if (holder_ < 0 && entry_ == nullptr && own.to.load() == 0) entry_ = &own;
  if (entry_ != nullptr) {
    entry_->from = range.from;
    entry_->to = range.to;
    entry_->writes = range.writes ? 1 : 0;
  }
  meeting_.drop_guard();
  return entry_ != nullptr;
}

bool RangeLock::asked(Question::Asks what) noexcept {
  if (!asking_) {
    Question question;
    question.what = what;
    question.writes = range_.writes ? 1 : 0;
    question.from = range_.from;
    question.to = range_.to;
    asking_.emplace(service_, question);
  }
  if (!asking_->over()) return false;
  if (!failed_) failed_ = asking_->failed();
  asking_.reset();
  return true;
}

bool RangeLock::take(const FileRange& range) noexcept {
  if (held_) return true;
  range_ = range;
  const bool over = meeting_.on_one_host() ? take_here(range) : asked(Question::Asks::kTake);
  held_ = over && !failed_;
  return over;
}

bool RangeLock::release() noexcept {
  if (!held_) return true;
  if (entry_ == nullptr) {
    if (!asked(Question::Asks::kRelease)) return false;
  } else {
    entry_->from.store(0, std::memory_order_release);
    entry_->to.store(0, std::memory_order_release);
    entry_ = nullptr;
    meeting_.wake_locals();
  }
  held_ = false;
  return true;
}

void RangeLock::describe(WaitReport* report) const {
  report->words += strf("bytes %lld to %lld of a file in atomic mode",
                        static_cast<long long>(range_.from), static_cast<long long>(range_.to));
  const int waits_for = meeting_.on_one_host() ? holder_ : 0;
  if (waits_for >= 0) core::report_wait_for(meeting_.communicator().peer(waits_for), report);
}

}  // namespace tern::io
