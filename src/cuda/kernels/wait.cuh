// SPDX-License-Identifier: Apache-2.0
// Waiter: waits for words written by other ranks' kernels, with a timeout, and reported to the
// host.
// Why a timeout: a kernel that spins forever occupies SMs, and its process cannot end. After a
// usual time a thread reports the wait in pinned memory, for the host's watch. After the timeout
// the thread reports the awaited rank and writes the abort words of all ranks, and its block
// leaves. Blocks also leave if another rank or the host (kLetGo) has written an abort word.
// Threads: any number per block; the first with news reports.
// See: coll/gpu/device_reports.hpp (the reader).
#pragma once

#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

struct Awaited {
  int32_t peer, message, step;
  int64_t pass;
};

class Waiter {
 public:
  /// `bases`: all ranks' scratch; `report`: this block's.
  TERN_DEVICE Waiter(const char* const* bases, int32_t ranks, int32_t rank, int64_t abort_word,
                     KernelReport* report, uint32_t call, uint64_t timeout, WaitShared& shared)
      : bases_(bases),
        ranks_(ranks),
        rank_(rank),
        abort_word_(abort_word),
        report_(report),
        call_(call),
        timeout_(timeout),
        shared_(shared) {}

  /// One thread calls begin() before other threads wait.
  TERN_DEVICE void begin() {
    shared_.left = shared_.told = 0;
    if (const uint32_t who = ptx::load_acquire_system(abort_word(rank_)); who != 0)
      leave(KernelReport::kTold, {peer_of(who), 0, 0, 0});
  }
  /// One thread calls end() after all waits of the block.
  TERN_DEVICE void end() {
    if (shared_.told == 0 || shared_.left != 0) return;
    shared_.told = 0;
    ptx::store_relaxed_system(&report_->state, uint32_t{KernelReport::kNothing});
  }
  /// Whether the block leaves. A thread may end between two barriers: barriers do not wait for
  /// ended threads.
  [[nodiscard]] TERN_DEVICE bool left() const { return atomicAdd(&shared_.left, 0U) != 0; }

  /// Called between two polls. Returns false if the block leaves.
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
    if (timeout_ != 0 && now - *begun > timeout_) {
      give_up(what());
      return false;
    }
    if (now - *begun > kUsual && atomicExch(&shared_.told, 1U) == 0)
      say(KernelReport::kWaits, what());
    return true;
  }
  /// A word has an unexpected value: the host has ended the kernel, or a rank made another call.
  TERN_DEVICE void refuse(const Awaited& what) {
    if (const uint32_t who = told(); who != 0)
      leave(KernelReport::kTold, {peer_of(who), 0, 0, 0});
    else
      give_up(what);
  }
  /// Leaves, and tells all ranks.
  TERN_DEVICE void give_up(const Awaited& what) {
    if (!leave(KernelReport::kLate, what)) return;
    for (int32_t rank = 0; rank < ranks_; ++rank)
      ptx::signal_system(abort_word(rank), static_cast<uint32_t>(rank_) + 1);
  }

 private:
  /// Returns the source of the abort; 0: none.
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
  const uint64_t timeout_;
  WaitShared& shared_;
};

}  // namespace
}  // namespace tern::cuda
