// SPDX-License-Identifier: Apache-2.0
// Waits for words that other ranks' kernels write: bounded, and known to the host.
// Why bounded: a kernel that spins for ever takes its multiprocessors, and its process cannot end.
// Who has waited for longer than usual says so in pinned memory, where the host's watch finds it;
// after the patience it says for whom it waited in vain, tells all others in their abort words, and
// its block leaves, as it does when another has told it so, or the host (kLetGo).
// Threads: any number of a block; the first that finds something says it.
// See: coll/gpu/device_reports.hpp (reads it).
#pragma once

#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

/// What a thread waits for.
struct Awaited {
  int32_t peer, message, step;
  int64_t pass;
};

class Waiter {
 public:
  /// `bases`: of all ranks' scratch; `report`: of this block.
  TERN_DEVICE Waiter(const char* const* bases, int32_t ranks, int32_t rank, int64_t abort_word,
                     KernelReport* report, uint32_t call, uint64_t patience, WaitShared& shared)
      : bases_(bases),
        ranks_(ranks),
        rank_(rank),
        abort_word_(abort_word),
        report_(report),
        call_(call),
        patience_(patience),
        shared_(shared) {}

  /// By one thread, before the others wait.
  TERN_DEVICE void begin() {
    shared_.left = shared_.told = 0;
    if (const uint32_t who = ptx::load_acquire_system(abort_word(rank_)); who != 0)
      leave(KernelReport::kTold, {peer_of(who), 0, 0, 0});
  }
  /// By one thread, when all have what they waited for.
  TERN_DEVICE void end() {
    if (shared_.told == 0 || shared_.left != 0) return;
    shared_.told = 0;
    ptx::store_relaxed_system(&report_->state, uint32_t{KernelReport::kNothing});
  }
  /// Whether the block leaves. Who finds that out between two barriers may end: the others' next
  /// barrier does not wait for a thread that has ended.
  [[nodiscard]] TERN_DEVICE bool left() const { return atomicAdd(&shared_.left, 0U) != 0; }

  /// Between two looks at a word. False: the block leaves.
  template <class What>
  [[nodiscard]] TERN_DEVICE bool again(unsigned* polls, uint64_t* begun, const What& what) {
    constexpr unsigned kPolls = 256;
    constexpr uint64_t kUsual = 10000000;  // ns
    spin_pause();
    if (++*polls % kPolls != 0) return true;
    if (const uint32_t who = told(); who != 0) {
      leave(KernelReport::kTold, {peer_of(who), 0, 0, 0});
      return false;
    }
    const uint64_t now = ptx::nanoseconds();
    if (*begun == 0) *begun = now;
    if (patience_ != 0 && now - *begun > patience_) {
      give_up(what());
      return false;
    }
    if (now - *begun > kUsual && atomicExch(&shared_.told, 1U) == 0)
      say(KernelReport::kWaits, what());
    return true;
  }
  /// A word has another value than was waited for: the host has let the kernel go, or a rank made
  /// another call.
  TERN_DEVICE void refuse(const Awaited& what) {
    if (const uint32_t who = told(); who != 0)
      leave(KernelReport::kTold, {peer_of(who), 0, 0, 0});
    else
      give_up(what);
  }
  /// Leaves, and tells all others.
  TERN_DEVICE void give_up(const Awaited& what) {
    if (!leave(KernelReport::kLate, what)) return;
    for (int32_t rank = 0; rank < ranks_; ++rank)
      ptx::signal_system(abort_word(rank), static_cast<uint32_t>(rank_) + 1);
  }

 private:
  /// Who has given up; 0: none.
  [[nodiscard]] TERN_DEVICE uint32_t told() const {
    if (const uint32_t who = ptx::load_acquire_system(abort_word(rank_)); who != 0) return who;
    const auto* const host = reinterpret_cast<const uint32_t*>(&report_->let_go);
    return ptx::load_relaxed_system(host) != 0 ? kLetGo : 0;
  }
  [[nodiscard]] TERN_DEVICE static int32_t peer_of(uint32_t who) {
    return who == kLetGo ? -1 : static_cast<int32_t>(who) - 1;
  }
  [[nodiscard]] TERN_DEVICE uint32_t* abort_word(int32_t rank) const {
    return reinterpret_cast<uint32_t*>(DEV(const_cast<char*>(bases_[rank]) + abort_word_));
  }
  /// Whether this thread is the first.
  TERN_DEVICE bool leave(KernelReport::State state, const Awaited& what) {
    if (atomicExch(&shared_.left, static_cast<uint32_t>(state)) != 0) return false;
    say(state, what);
    return true;
  }
  TERN_DEVICE void say(KernelReport::State state, const Awaited& what) {
    const auto put = [](auto* to, auto value) {
      ptx::store_relaxed_system(reinterpret_cast<uint32_t*>(to), static_cast<uint32_t>(value));
    };
    put(&report_->number, ptx::load_relaxed_system(&report_->number) + 1);
    put(&report_->peer, what.peer);
    put(&report_->message, what.message);
    put(&report_->step, what.step);
    put(&report_->call, call_);
    ptx::store_relaxed_system(reinterpret_cast<uint64_t*>(&report_->pass),
                              static_cast<uint64_t>(what.pass));
    ptx::signal_system(&report_->state, state);
  }

  const char* const* const bases_;
  const int32_t ranks_, rank_;
  const int64_t abort_word_;
  KernelReport* const report_;
  const uint32_t call_;
  const uint64_t patience_;
  WaitShared& shared_;
};

}  // namespace
}  // namespace tern::cuda
