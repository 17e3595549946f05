// SPDX-License-Identifier: Apache-2.0
#include "io/range_lock.hpp"

#include "core/channel.hpp"
#include "mpi.h"

namespace tern::io {

bool RangeLock::lock_word() noexcept {
  std::atomic<uint64_t>& word = meeting_.board(0)->range_lock;
  const auto mine = static_cast<uint64_t>(meeting_.communicator().rank()) + 1;
  uint64_t holder = 0;
  if (word.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return true;
  if (!meeting_.has_died(static_cast<int>(holder) - 1)) return false;
  return word.compare_exchange_strong(holder, mine, std::memory_order_acquire);
}

bool RangeLock::try_to_take(int64_t from, int64_t to, bool writes) noexcept {
  if (!lock_word()) return false;
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
  meeting_.board(0)->range_lock.store(0, std::memory_order_release);
  return held_;
}

Failure RangeLock::take(int64_t from, int64_t to, bool writes) noexcept {
  if (from >= to) return {};
  if (meeting_.board(0) == nullptr || !meeting_.on_one_host())
    return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                   "the ranks of the file are on several hosts; this version supports atomic mode "
                   "on one host only");
  if (try_to_take(from, to, writes)) return {};
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
  RangeEntry& mine = meeting_.board(meeting_.communicator().rank())->range;
  mine.to.store(0, std::memory_order_release);
  mine.from.store(0, std::memory_order_release);
  meeting_.wake_locals();
}

}  // namespace tern::io
