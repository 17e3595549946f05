// SPDX-License-Identifier: Apache-2.0
// Locks: in shared memory on this host, by messages on other hosts.
#include "rma/locks.hpp"

#include <new>

#include "base/clock.hpp"
#include "base/relax.hpp"
#include "rma/lock_word.hpp"
#include "trace/recorder.hpp"

namespace tern::rma {

int Locks::dead_holder(int target) noexcept {
  const uint64_t word = targets_[target].control.head().lock.load();
  const auto writer = Control::writer_of(word);
  if (writer >= targets_.size()) return -1;
  if (writer >= 0) return targets_.has_died(writer) ? writer : -1;
  for (int i = 0; i < targets_.size(); ++i) {
    const Control control = targets_[i].control;
    if (control.valid() && control.holds(target).load() != 0 && targets_.has_died(i)) return i;
  }
  return -1;
}

/// try_for_a_moment() spins, because most locks protect a single operation.
bool Locks::try_for_a_moment(Control control, bool exclusive) noexcept {
  constexpr int kSpins = 32;
  for (int i = 0; i < kSpins; ++i) {
    relax();
    if (try_lock(control, targets_.rank(), exclusive)) return true;
  }
  return false;
}

int Locks::await_word(int target, bool exclusive) noexcept {
  // Readers would starve a writer, so the writer sets kWanted. A reader blocked for a long time
  // barges: the writer may be dead, or wait for the reader.
  constexpr int64_t kWriterWaitsNs = 200'000, kReaderWaitsNs = 100'000'000;
  const Control control = targets_[target].control;
  const int64_t began = now_ns();
  bool has_it = false;
  const auto attempt = [&] {
    const int64_t waited = now_ns() - began;
    has_it = try_lock(control, targets_.rank(), exclusive, waited > kReaderWaitsNs);
    if (!has_it && exclusive && waited > kWriterWaitsNs) want(control);
    return has_it;
  };
  const int code = targets_.await(
      [&] {
        if (has_it || attempt()) return true;
        enlist(targets_, target);
        return attempt();
      },
      [&] { return dead_holder(target); },
      [&](WaitReport* report) { describe(target, exclusive, report); });
  if (code != MPI_SUCCESS && exclusive) control.head().lock.fetch_and(~Control::kWanted);
  return code;
}

int Locks::await_own(bool exclusive) noexcept {
  TargetSide& side = accesses_.messages->target_side();
  try {
    side.ask_own_lock(exclusive);
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to wait for a lock");
  }
  const int code = targets_.await(
      [&] { return side.own_lock_granted(); }, [&] { return dead_holder(targets_.rank()); },
      [&](WaitReport* report) { describe(targets_.rank(), exclusive, report); });
  if (code != MPI_SUCCESS) side.forget_own_lock();
  return code;
}

[[gnu::always_inline]] inline int Locks::take(int target, bool exclusive) noexcept {
  const Control control = targets_[target].control;
  const bool mine = control.valid() && try_lock(control, targets_.rank(), exclusive);
  const int code = TERN_LIKELY(mine) ? MPI_SUCCESS : take_late(target, exclusive);
  if (code == MPI_SUCCESS && control.valid())
    targets_.own().control.holds(target).store(1, std::memory_order_relaxed);
  return code;
}

int Locks::take_late(int target, bool exclusive) noexcept {
  if (!trace::is_on()) return take_after_others(target, exclusive);
  const Control control = targets_[target].control;
  const int holder = control.valid() ? Control::writer_of(control.head().lock.load()) : -1;
  const int code = take_after_others(target, exclusive);
  trace::note_wait(trace::Waited::kLock, holder < targets_.size() ? holder : -1);
  return code;
}

int Locks::take_after_others(int target, bool exclusive) noexcept {
  const Control control = targets_[target].control;
  if (!control.valid()) {
    const int code = accesses_.messages->ask_lock(target, exclusive);
    return code == MPI_SUCCESS ? accesses_.messages->await_lock(target) : code;
  }
  if (try_for_a_moment(control, exclusive)) return MPI_SUCCESS;
  const auto mine = static_cast<size_t>(targets_.rank());
  const int code = target == targets_.rank() && accesses_.messages != nullptr
                       ? await_own(exclusive)
                       : await_word(target, exclusive);
  control.waiters(mine / 64).fetch_and(~(uint64_t{1} << mine % 64));
  if (code != MPI_SUCCESS) {
    (void)wake_next(targets_, target);
    return code;
  }
  if (!exclusive) wake_all(targets_, target);
  return MPI_SUCCESS;
}

[[gnu::always_inline]] inline void Locks::drop(int target, bool exclusive) noexcept {
  if (!targets_.is_local(target)) {
    (void)accesses_.messages->tell(Verb::kUnlock, target,
                                   exclusive ? Record::kExclusive : uint8_t{0});
    return;
  }
  targets_.own().control.holds(target).store(0, std::memory_order_relaxed);
  release_lock(targets_, target, exclusive);
  // Remote requests get a turn while this rank locks in a loop.
  if (target == targets_.rank() && accesses_.messages != nullptr) accesses_.messages->grant_locks();
}

void Locks::describe(int target, bool exclusive, WaitReport* report) {
  const uint64_t word = targets_[target].control.head().lock.load();
  const auto writer = Control::writer_of(word);
  report->words += strf("the %s lock of rank %d in %s", exclusive ? "exclusive" : "shared", target,
                        targets_.words().c_str());
  const auto held_by = [&](int holder) {
    report->words += strf(", held by rank %d", holder);
    core::report_wait_for(targets_.communicator().peer(holder), report);
  };
  if (writer >= 0 && writer < targets_.size()) return held_by(writer);
  for (int i = 0; i < targets_.size(); ++i) {
    const Control control = targets_[i].control;
    if (control.valid() && control.holds(target).load() != 0) held_by(i);
  }
}

int Locks::lock(int type, int target, int assertion) noexcept {
  if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
    return fail(MPI_ERR_LOCKTYPE,
                "lock_type is %d, but must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE", type);
  if (int code = check_assertion(assertion); code != MPI_SUCCESS) return code;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = targets_.check(target);
  if (code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(targets_.progress());
  code = epoch_.may_lock(target);
  if (code != MPI_SUCCESS) return code;
  const bool exclusive = type == MPI_LOCK_EXCLUSIVE, checked = (assertion & MPI_MODE_NOCHECK) == 0;
  if (checked) code = take(target, exclusive);
  if (code != MPI_SUCCESS) return code;
  unchecked_[static_cast<size_t>(target)] = checked ? 0 : 1;
  epoch_.locked(target, exclusive);
  return MPI_SUCCESS;
}

int Locks::unlock(int target) noexcept {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = targets_.check(target);
  if (code == MPI_SUCCESS) code = epoch_.may_unlock(target);
  if (code != MPI_SUCCESS) return code;
  const bool checked = unchecked_[static_cast<size_t>(target)] == 0;
  code = checked ? accesses_.finish_before_fence(target, false) : accesses_.finish(target, false);
  const core::ChannelLock lock(targets_.progress());
  if (checked) drop(target, epoch_.reach(target) == Epoch::Reach::kExclusive);
  epoch_.unlocked(target);
  return code;
}

int Locks::lock_all(int assertion) noexcept {
  int code = check_assertion(assertion);
  if (code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(targets_.progress());
  code = epoch_.may_begin_access();
  if (code != MPI_SUCCESS) return code;
  all_unchecked_ = (assertion & MPI_MODE_NOCHECK) != 0;
  if (!all_unchecked_) code = take_all();
  if (code == MPI_SUCCESS) epoch_.begin(Epoch::Access::kLockAll);
  return code;
}

/// Ranks lock in order, to avoid deadlocks.
int Locks::take_all() {
  for (int i = 0; i < targets_.size(); ++i) {
    const int code = take(i, false);
    if (code == MPI_SUCCESS) continue;
    while (--i >= 0) drop(i, false);
    return code;
  }
  return MPI_SUCCESS;
}

int Locks::unlock_all() noexcept {
  int code = epoch_.may_unlock_all();
  if (code != MPI_SUCCESS) return code;
  code = accesses_.finish(-1, false);
  const core::ChannelLock lock(targets_.progress());
  for (int i = 0; i < targets_.size() && !all_unchecked_; ++i) drop(i, false);
  epoch_.end_access();
  return code;
}

int Locks::check_assertion(int assertion) noexcept {
  if ((assertion & ~MPI_MODE_NOCHECK) != 0)
    return fail(MPI_ERR_ASSERT, "assert is %d, but a lock takes 0 or MPI_MODE_NOCHECK", assertion);
  // Some programs lock despite the hint (ParRes); MPICH and Open MPI allow this.
  if (no_locks && accesses_.log != nullptr)
    return fail(MPI_ERR_RMA_SYNC,
                "%s has the hint no_locks, but the program locks the window; without "
                "TERN_CHECK=rma the lock works",
                targets_.words().c_str());
  return MPI_SUCCESS;
}

}  // namespace tern::rma
