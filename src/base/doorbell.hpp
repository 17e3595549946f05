// SPDX-License-Identifier: Apache-2.0
// Doorbell: a word in shared memory on which a rank sleeps and by which its peers wake it.
// Protocol: the sleeper arms the bell, polls everything once more, then sleeps; a sender publishes
// its data and then rings. "Store, then load" on both sides needs a fence on both sides. `fenced`
// senders set their own fence. For all other senders the sleeper sets a remote fence before a long
// sleep (longest_sleep(), base/remote_fence.hpp). A short sleep has no remote fence: it may miss a
// ring, and ends by its time-out. The word changes with each arm() and each ring that found it
// armed: a thread that was rung before it sleeps does not sleep, whatever other threads have done
// meanwhile.
// Descriptors. A rank whose peers of other hosts cannot ring sleeps on their transports'
// descriptors as well: the rank opens the bell's pipe (BellPipe). A sender then writes to the pipe
// (base/shared_file.hpp) instead of waking a futex.
// Threads: any number may ring, several of the owner's may sleep; each pairs arm() with disarm() or
// sleep(). See: tests/unit/base/doorbell_test.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/futex.hpp"
#include "base/shared_file.hpp"

namespace tern {

/// What a transport adds to where a rank sleeps: a descriptor that becomes readable when something
/// has happened since it was armed.
struct Alarm {
  int fd = -1;
  bool (*arm)(void* self) noexcept = nullptr;  // false: something has happened already
  void* self = nullptr;
};

/// Further words: a change of one ends the sleep. Kernels before 5.16 wait for one word only: there
/// a sleep beside `awaited` is short, and a change of `question` ends no sleep.
struct AlsoWords {
  FutexWord awaited, question;
};

/// The descriptors of armed alarms.
class Descriptors {
 public:
  static constexpr size_t kMost = 32;
  void add(int fd) noexcept {
    if (count_ < kMost) fds_[count_++] = fd;
  }
  [[nodiscard]] size_t count() const noexcept { return count_; }
  [[nodiscard]] int operator[](size_t i) const noexcept { return fds_[i]; }

 private:
  std::array<int, kMost> fds_{};
  size_t count_ = 0;
};

class Doorbell {
 public:
  /// Until rung, however long it takes.
  static constexpr int64_t kUntilRung = kNoLimit;

  /// Sender, after its data is published. No system call unless the owner sleeps.
  void ring(bool fenced) noexcept {
    if (fenced)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect((state_.load(std::memory_order_relaxed) & kArmed) != 0, 0)) wake();
  }

  /// Owner: says that it is about to sleep. Poll once more between arm() and sleep(), which takes
  /// what this returns.
  [[nodiscard]] uint32_t arm() noexcept;
  /// A sleep of at most so long (microseconds) misses rings of unfenced senders.
  static constexpr int64_t kUnfencedUs = 1000;
  /// Owner, between arm() and the last poll: sets the remote fence for a sleep of more than
  /// kUnfencedUs. Returns the sleep's limit in microseconds: at most 10 ms if the kernel refuses.
  [[nodiscard]] static int64_t longest_sleep(int64_t microseconds) noexcept;
  /// Threads of the owner are armed or asleep.
  [[nodiscard]] bool has_sleepers() const noexcept {
    return sleepers_.load(std::memory_order_relaxed) != 0;
  }
  /// Owner: does not sleep after all. The bell stays armed for those who still do.
  void disarm() noexcept;
  /// Owner: sleeps until rung, or one of `also` has changed, or `microseconds` have passed;
  /// disarmed afterwards.
  void sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also = {}) noexcept;
  /// The same, or until a descriptor is readable; the bell's pipe is open. A change of `also` after
  /// the start of the sleep is missed; a sleep beside `awaited` is short. One of several sleeping
  /// threads may empty the pipe: such sleeps must be short.
  void sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also,
             const Descriptors& descriptors) noexcept;

 private:
  static constexpr uint32_t kArmed = 1;  // the other bits count: kStep
  static constexpr uint32_t kStep = 2;
  friend class BellPipe;
  void wake() noexcept;
  [[nodiscard]] FileOffer pipe_offer() const noexcept;

  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> sleepers_{0};
  // The pipe: the owner's process, and its descriptors, each one more, for a bell may begin as
  // memory full of zeros. 0: who rings wakes a futex.
  std::atomic<int32_t> pid_{0}, writing_{0}, reading_{0};
  std::atomic<uint32_t> domain_{0}, keeper_{0};  // of the pipe's offer
  std::atomic<uint64_t> pipe_{0};  // its inode: the descriptor may be another file's by now
};

/// Opens a bell's pipe for its own lifetime, which is shorter than the bell's. Throws Error.
class BellPipe {
 public:
  explicit BellPipe(Doorbell& bell);
  BellPipe(const BellPipe&) = delete;
  BellPipe& operator=(const BellPipe&) = delete;
  ~BellPipe();

 private:
  Doorbell& bell_;
  OfferedFile offered_;  // both ends
};

}  // namespace tern
