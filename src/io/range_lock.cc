// SPDX-License-Identifier: Apache-2.0
#include "io/range_lock.hpp"

#include <time.h>

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

bool RangeLock::try_to_take(int64_t from, int64_t to, bool writes) noexcept {
  meeting_.take_guard();
  holder_ = -1;
  const int self = meeting_.communicator().rank();
  for (const int rank : meeting_.locals()) {
    const RangeEntry& other = meeting_.board(rank)->range;
    if (rank == self || other.to.load() <= from || other.from.load() >= to) continue;
    if (!writes && other.writes.load() == 0) continue;
    if (!meeting_.has_died(rank)) holder_ = rank;
  }
  if (holder_ < 0) {
    RangeEntry& mine = meeting_.board(self)->range;
    mine.from = from;
    mine.to = to;
    mine.writes = writes ? 1 : 0;
    held_ = true;
  }
  meeting_.drop_guard();
  return held_;
}

Failure RangeLock::take(int64_t from, int64_t to, bool writes, Thread in) noexcept {
  if (from >= to) return {};
  if (!meeting_.on_one_host()) {
    Question question;
    question.what = Question::Asks::kTake;
    question.writes = writes ? 1 : 0;
    question.from = from;
    question.to = to;
    Answer answer;
    Failure failed = service_.ask(question, "a range of a file in atomic mode", &answer);
    held_ = !failed;
    return failed;
  }
  if (try_to_take(from, to, writes)) return {};
  if (in == Thread::kWorker) {
    // Progress belongs to the threads that call MPI. No holder of a range waits for this rank.
    const timespec pause{0, 50'000};
    while (!try_to_take(from, to, writes)) (void)::nanosleep(&pause, nullptr);
    return {};
  }
  constexpr int64_t kMostSleepUs = 1000;
  core::Progress& progress = meeting_.communicator().channel().progress;
  const core::ChannelLock lock(progress);
  progress.wait([&] { return held_ || try_to_take(from, to, writes); },
                [&](WaitReport* report) {
                  report->words += strf("bytes %lld to %lld of a file in atomic mode",
                                        static_cast<long long>(from), static_cast<long long>(to));
                  if (holder_ >= 0)
                    report->wait_for(static_cast<int>(meeting_.communicator().peer_index(holder_)));
                },
                kMostSleepUs);
  return {};
}

void RangeLock::release() noexcept {
  if (!held_) return;
  held_ = false;
  if (!meeting_.on_one_host()) {
    Question question;
    question.what = Question::Asks::kRelease;
    Answer answer;
    (void)service_.ask(question, "the release of a range of a file", &answer);
    return;
  }
  RangeEntry& mine = meeting_.board(meeting_.communicator().rank())->range;
  mine.to.store(0, std::memory_order_release);
  mine.from.store(0, std::memory_order_release);
  meeting_.wake_locals();
}

}  // namespace tern::io
