// SPDX-License-Identifier: Apache-2.0
// Locks of windows: a word in the target's control block, changed by who wants it.
// Who finds it taken leaves a bit and waits as every rank does; who frees it wakes one that waits.
// A rank that comes in between may take it first: handing it over would cost a switch each time.
#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/relax.hpp"
#include "core/communicator.hpp"
#include "rma/messages.hpp"
#include "rma/window.hpp"

namespace tern::rma {

bool Window::try_lock(Control control, int holder, bool exclusive, bool barges) noexcept {
  std::atomic<uint64_t>& word = control.head().lock;
  uint64_t now = word.load();
  if (exclusive)
    return (now & ~Control::kWanted) == 0 &&
           word.compare_exchange_strong(now, (static_cast<uint64_t>(holder) + 1)
                                                 << Control::kWriterShift);
  while (now < Control::kOneWriter && (barges || (now & Control::kWanted) == 0))
    if (word.compare_exchange_weak(now, now + 1)) return true;
  return false;
}

void Window::want(Control control) noexcept {
  std::atomic<uint64_t>& word = control.head().lock;
  if ((word.load() & Control::kWanted) == 0) word.fetch_or(Control::kWanted);
}

void Window::enlist(int target_rank) noexcept {
  const auto mine = static_cast<size_t>(rank());
  std::atomic<uint64_t>& word = target(target_rank).control.waiters(mine / 64);
  const uint64_t bit = uint64_t{1} << mine % 64;
  if ((word.load() & bit) == 0) word.fetch_or(bit);
}

/// The next behind this rank: those that wait take turns.
bool Window::wake_next(int target_rank) noexcept {
  const Control control = target(target_rank).control;
  const size_t words = control.waiter_words();
  const auto first = static_cast<size_t>(rank() + 1) / 64;
  for (size_t i = 0; i <= words; ++i) {
    std::atomic<uint64_t>& word = control.waiters((first + i) % words);
    uint64_t waiting = word.load();
    if (i == 0) waiting &= ~uint64_t{0} << (static_cast<size_t>(rank() + 1) % 64);
    while (waiting != 0) {
      const int place = __builtin_ctzll(waiting);
      const uint64_t bit = uint64_t{1} << place;
      if ((word.fetch_and(~bit) & bit) != 0) {
        wake(static_cast<int>((first + i) % words * 64) + place);
        return true;
      }
      waiting &= ~bit;
    }
  }
  return false;
}

void Window::wake_all(int target_rank) noexcept {
  for (int i = 0; i < size() && wake_next(target_rank); ++i) continue;
}

void Window::release_lock(int target_rank, bool exclusive) noexcept {
  std::atomic<uint64_t>& word = target(target_rank).control.head().lock;
  const uint64_t before = exclusive ? word.exchange(0) : word.fetch_sub(1);
  if ((before & Control::kWanted) != 0) return wake_all(target_rank);
  if (exclusive || before == 1) (void)wake_next(target_rank);
}

/// A rank of this host that holds the lock of the target and has ended; -1: none is known.
int Window::dead_holder(int target_rank) noexcept {
  const uint64_t word = target(target_rank).control.head().lock.load();
  const auto writer = static_cast<int>(word >> Control::kWriterShift) - 1;
  if (writer >= size()) return -1;
  if (writer >= 0) return has_died(writer) ? writer : -1;
  for (int i = 0; i < size(); ++i) {
    const Control control = target(i).control;
    if (control.valid() && control.holds(target_rank).load() != 0 && has_died(i)) return i;
  }
  return -1;
}

/// Most locks are held for one operation: to wait for that needs no bit and no bell.
bool Window::try_for_a_moment(Control control, bool exclusive) noexcept {
  constexpr int kSpins = 32;
  for (int i = 0; i < kSpins; ++i) {
    relax();
    if (try_lock(control, rank(), exclusive)) return true;
  }
  return false;
}

int Window::await_word(int target_rank, bool exclusive) noexcept {
  // Readers that follow each other would keep a writer out for ever: it says that it waits. A
  // reader that this keeps out for long gets in: the writer may have died, or wait for what the
  // reader will do.
  constexpr int64_t kWriterWaitsNs = 200'000, kReaderWaitsNs = 100'000'000;
  const Control control = target(target_rank).control;
  const int64_t began = now_ns();
  bool has_it = false;
  const auto attempt = [&] {
    const int64_t waited = now_ns() - began;
    has_it = try_lock(control, rank(), exclusive, waited > kReaderWaitsNs);
    if (!has_it && exclusive && waited > kWriterWaitsNs) want(control);
    return has_it;
  };
  const int code = await(
      [&] {
        // Asked again after it was true: a wait looks once more before it sleeps.
        if (has_it || attempt()) return true;
        enlist(target_rank);
        return attempt();
      },
      [&] { return dead_holder(target_rank); },
      [&](WaitReport* report) { describe_lock(target_rank, exclusive, report); });
  if (code != MPI_SUCCESS && exclusive) control.head().lock.fetch_and(~Control::kWanted);
  return code;
}

/// Of a part that others reach by messages, too.
int Window::await_own_lock(bool exclusive) noexcept {
  TargetSide& side = messages_->target_side();
  try {
    side.ask_own_lock(exclusive);
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to wait for a lock");
  }
  const int code =
      await([&] { return side.own_lock_granted(); }, [&] { return dead_holder(rank()); },
            [&](WaitReport* report) { describe_lock(rank(), exclusive, report); });
  if (code != MPI_SUCCESS) side.forget_own_lock();
  return code;
}

int Window::take_lock(int target_rank, bool exclusive) noexcept {
  const Control control = target(target_rank).control;
  if (!control.valid()) {
    const int code = messages_->ask_lock(target_rank, exclusive);
    return code == MPI_SUCCESS ? messages_->await_lock(target_rank) : code;
  }
  if (TERN_UNLIKELY(!try_lock(control, rank(), exclusive) &&
                    !try_for_a_moment(control, exclusive))) {
    const auto mine = static_cast<size_t>(rank());
    const int code = target_rank == rank() && messages_ != nullptr
                         ? await_own_lock(exclusive)
                         : await_word(target_rank, exclusive);
    control.waiters(mine / 64).fetch_and(~(uint64_t{1} << mine % 64));
    if (code != MPI_SUCCESS) {
      (void)wake_next(target_rank);  // the others learn it, too
      return code;
    }
    if (!exclusive) wake_all(target_rank);  // other readers may come, too
  }
  own().control.holds(target_rank).store(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

void Window::drop_lock(int target_rank, bool exclusive) noexcept {
  if (!is_local(target_rank)) {
    (void)messages_->tell(Verb::kUnlock, target_rank, exclusive ? Record::kExclusive : uint8_t{0});
    return;
  }
  own().control.holds(target_rank).store(0, std::memory_order_relaxed);
  release_lock(target_rank, exclusive);
  // Who locks its own part in a loop would never be seen to be without it.
  if (target_rank == rank() && messages_ != nullptr) messages_->grant_locks();
}

void Window::describe_lock(int target_rank, bool exclusive, WaitReport* report) {
  const uint64_t word = target(target_rank).control.head().lock.load();
  const auto writer = static_cast<int>(word >> Control::kWriterShift) - 1;
  report->words += strf("the %s lock of rank %d in %s", exclusive ? "exclusive" : "shared",
                        target_rank, words().c_str());
  const auto held_by = [&](int holder) {
    report->words += strf(", held by rank %d", holder);
    report->wait_for(static_cast<int>(communicator_->peer_index(holder)));
  };
  if (writer >= 0 && writer < size()) return held_by(writer);
  for (int i = 0; i < size(); ++i) {
    const Control control = target(i).control;
    if (control.valid() && control.holds(target_rank).load() != 0) held_by(i);
  }
}

int Window::lock(int type, int target_rank, int assertion) noexcept {
  if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
    return fail(MPI_ERR_LOCKTYPE,
                "lock_type is %d, which is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE", type);
  if (int code = check_lock_assertion(assertion); code != MPI_SUCCESS) return code;
  if (target_rank == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = check_target(target_rank);
  if (code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(progress());
  code = epoch_.may_lock(target_rank);
  if (code != MPI_SUCCESS) return code;
  const bool exclusive = type == MPI_LOCK_EXCLUSIVE, checked = (assertion & MPI_MODE_NOCHECK) == 0;
  if (checked) code = take_lock(target_rank, exclusive);
  if (code != MPI_SUCCESS) return code;
  unchecked_[static_cast<size_t>(target_rank)] = checked ? 0 : 1;
  epoch_.locked(target_rank, exclusive);
  return MPI_SUCCESS;
}

int Window::unlock(int target_rank) noexcept {
  if (target_rank == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = check_target(target_rank);
  if (code == MPI_SUCCESS) code = epoch_.may_unlock(target_rank);
  if (code != MPI_SUCCESS) return code;
  code = finish(target_rank, false);
  const core::ChannelLock lock(progress());
  if (unchecked_[static_cast<size_t>(target_rank)] == 0)
    drop_lock(target_rank, epoch_.reach(target_rank) == Epoch::Reach::kExclusive);
  epoch_.unlocked(target_rank);
  return code;
}

int Window::lock_all(int assertion) noexcept {
  int code = check_lock_assertion(assertion);
  if (code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(progress());
  code = epoch_.may_begin_access();
  if (code != MPI_SUCCESS) return code;
  all_unchecked_ = (assertion & MPI_MODE_NOCHECK) != 0;
  if (!all_unchecked_) code = take_all_locks();
  if (code == MPI_SUCCESS) epoch_.begin(Epoch::Access::kLockAll);
  return code;
}

/// One after the other: who locks several ranks in their order never waits in a circle with it.
int Window::take_all_locks() {
  for (int i = 0; i < size(); ++i) {
    const int code = take_lock(i, false);
    if (code == MPI_SUCCESS) continue;
    while (--i >= 0) drop_lock(i, false);
    return code;
  }
  return MPI_SUCCESS;
}

int Window::unlock_all() noexcept {
  int code = epoch_.may_unlock_all();
  if (code != MPI_SUCCESS) return code;
  code = finish(-1, false);
  const core::ChannelLock lock(progress());
  for (int i = 0; i < size() && !all_unchecked_; ++i) drop_lock(i, false);
  epoch_.end_access();
  return code;
}

int Window::check_lock_assertion(int assertion) noexcept {
  if ((assertion & ~MPI_MODE_NOCHECK) != 0)
    return fail(MPI_ERR_ASSERT, "assert is %d, but a lock takes 0 or MPI_MODE_NOCHECK", assertion);
  // Programs give the hint and lock (ParRes); MPICH and Open MPI let them.
  if (no_locks && log_ != nullptr)
    return fail(MPI_ERR_RMA_SYNC,
                "the hint no_locks of %s says that it is never locked; without TERN_CHECK=rma the "
                "lock works all the same",
                words().c_str());
  return MPI_SUCCESS;
}

}  // namespace tern::rma
