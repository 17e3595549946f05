// SPDX-License-Identifier: Apache-2.0
// Doorbell: a word in shared memory to sleep on, and to wake the sleeper.
// Protocol: the sleeper arms the bell, polls everything once more, then sleeps. A sender publishes
// its data, then rings. "Store, then load" needs a fence on both sides: `fenced` senders execute
// their own; for other senders, the sleeper issues a remote fence before a long sleep
// (base/remote_fence.hpp). A short sleep may miss a ring, and times out. Each arm(), and each ring
// of an armed bell, changes the word, so a thread rung before its sleep does not sleep.
// Descriptors: if peers on other hosts cannot ring, a rank also sleeps on its transports'
// descriptors and opens the bell's pipe (BellPipe), which senders then write.
// Threads: any may ring; several owner threads may sleep, each pairing arm() with disarm() or
// sleep().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/futex.hpp"
#include "base/shared_file.hpp"

namespace tern {

enum class Armed : uint8_t {
  kYes,
  kPending,  // an event is pending
  kUnsure,   // the descriptor may miss events, so sleeps are short
};

struct Alarm {
  int fd = -1;
  Armed (*arm)(void* self) noexcept = nullptr;
  void* self = nullptr;
};

/// A change of either word of AlsoWords ends the sleep. Kernels before 5.16 wait on one word:
/// sleeps with `awaited` are then short, and `question` does not end a sleep.
struct AlsoWords {
  FutexWord awaited, question;
};

class Descriptors {
 public:
  static constexpr size_t kMost = 32;
  void add(int fd) noexcept {
    if (count_ < kMost) fds_[count_++] = fd;
  }
  [[nodiscard]] size_t count() const noexcept { return count_; }
  [[nodiscard]] int operator[](size_t i) const noexcept { return fds_[i]; }
  void shorten_sleep() noexcept { short_ = true; }
  [[nodiscard]] bool wants_short_sleep() const noexcept { return short_; }

 private:
  std::array<int, kMost> fds_{};
  size_t count_ = 0;
  bool short_ = false;
};

class Doorbell {
 public:
  static constexpr int64_t kUntilRung = kNoLimit;

  /// The sender calls ring() after publishing data. No system call happens unless the owner sleeps.
  void ring(bool fenced) noexcept {
    if (fenced)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect((state_.load(std::memory_order_relaxed) & kArmed) != 0, 0)) wake();
  }

  [[nodiscard]] uint32_t arm() noexcept;
  /// Sleeps up to this length may miss unfenced rings.
  static constexpr int64_t kUnfencedUs = 1000;
  /// The owner calls longest_sleep() between arm() and the last poll. Issues the remote fence for a
  /// sleep above kUnfencedUs. Returns the limit in microseconds: at most 10 ms if the kernel
  /// refuses.
  [[nodiscard]] static int64_t longest_sleep(int64_t microseconds) noexcept;
  [[nodiscard]] bool has_sleepers() const noexcept {
    return sleepers_.load(std::memory_order_relaxed) != 0;
  }
  /// disarm() leaves the bell armed for other sleepers.
  void disarm() noexcept;
  void sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also = {}) noexcept;
  /// Also wakes for a readable descriptor; requires the pipe. The sleep may miss a change of
  /// `also`, so a sleep with `awaited` is short. Several sleepers share the pipe, so their sleeps
  /// must be short.
  void sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also,
             const Descriptors& descriptors) noexcept;

 private:
  static constexpr uint32_t kArmed = 1;  // other bits count by kStep
  static constexpr uint32_t kStep = 2;
  friend class BellPipe;
  void wake() noexcept;
  [[nodiscard]] FileOffer pipe_offer() const noexcept;

  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> sleepers_{0};
  // The owner's process and descriptors, each plus one, because a bell may start zeroed; 0: ring by
  // futex.
  std::atomic<int32_t> pid_{0}, writing_{0}, reading_{0};
  std::atomic<uint32_t> domain_{0}, keeper_{0};
  std::atomic<uint64_t> pipe_{0};  // inode, because the descriptor may be reused
};

/// BellPipe lives within the bell's lifetime. Throws Error.
class BellPipe {
 public:
  explicit BellPipe(Doorbell& bell);
  BellPipe(const BellPipe&) = delete;
  BellPipe& operator=(const BellPipe&) = delete;
  ~BellPipe();

 private:
  Doorbell& bell_;
  OfferedFile offered_;
};

}  // namespace tern
