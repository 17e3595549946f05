// SPDX-License-Identifier: Apache-2.0
// Doorbell: no ring is lost while several threads arm and disarm.
#include "base/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "base/relax.hpp"
#include "base/remote_fence.hpp"

namespace tern {
namespace {

constexpr int64_t kLost = 5'000'000;  // microseconds: forever

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TEST(Doorbell, ARingBetweenArmingAndSleepingIsNotSleptThrough) {
  Doorbell bell;
  const uint32_t armed = bell.arm();
  bell.ring(true);
  const uint32_t other = bell.arm();
  const int64_t before = now_us();
  bell.sleep(armed, kLost);
  EXPECT_LT(now_us() - before, kLost / 2);
  bell.ring(true);
  bell.sleep(other, kLost);
  EXPECT_LT(now_us() - before, kLost / 2);
}

// The test takes the shortest of twenty tries, because the machine may be busy.
TEST(Doorbell, ASleepBesideDescriptorsEndsByARingAndByADescriptor) {
  constexpr int64_t kMost = 10000;
  Doorbell bell;
  const BellPipe pipe(bell);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Descriptors descriptors;
  descriptors.add(ends[0]);
  std::vector<std::thread> ringers;
  const auto shortest_sleep = [&](auto&& after_arming) {
    int64_t shortest = kLost;
    for (int i = 0; i < 20; ++i) {
      const uint32_t armed = bell.arm();
      const int64_t before = now_us();
      after_arming();
      bell.sleep(armed, kMost, {}, descriptors);
      shortest = std::min(shortest, now_us() - before);
    }
    return shortest;
  };
  EXPECT_GE(shortest_sleep([] {}), kMost - 1000);
  EXPECT_LT(shortest_sleep([&] { bell.ring(true); }), kMost / 2);
  EXPECT_LT(shortest_sleep([&] {
              ringers.emplace_back([&bell] {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                bell.ring(true);
              });
            }),
            kMost / 2);
  for (std::thread& ringer : ringers) ringer.join();
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_LT(shortest_sleep([] {}), kMost / 2);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Doorbell, DisarmingLeavesItArmedForOthers) {
  Doorbell bell;
  std::atomic<bool> rung = false;
  std::thread sleeper([&] {
    const uint32_t armed = bell.arm();
    if (!rung) bell.sleep(armed, kLost);
  });
  for (int i = 0; i < 1000; ++i) {
    (void)bell.arm();
    bell.disarm();
  }
  const int64_t before = now_us();
  rung = true;
  bell.ring(true);
  sleeper.join();
  EXPECT_LT(now_us() - before, kLost / 2);
}

TEST(Doorbell, NoRingIsLostBesideAThreadThatDisarms) {
  constexpr int kRings = 20000;
  Doorbell bell;
  std::atomic<int> given{0}, taken{0};
  std::atomic<bool> ends{false};
  std::thread beside([&] {
    while (!ends) {
      (void)bell.arm();
      bell.disarm();
    }
  });
  std::thread sleeper([&] {
    for (int seen = 0; seen < kRings; taken = ++seen)
      while (given == seen) {
        const uint32_t armed = bell.arm();
        if (given != seen)
          bell.disarm();
        else
          bell.sleep(armed, kLost);
      }
  });
  int64_t longest = 0;
  for (int i = 0; i < kRings; ++i) {
    const int64_t before = now_us();
    given = i + 1;
    bell.ring(true);
    while (taken <= i) std::this_thread::yield();
    longest = std::max(longest, now_us() - before);
    if (longest >= kLost / 2) break;
  }
  EXPECT_LT(longest, kLost / 2);
  ends = true;
  given = kRings;
  bell.ring(true);
  beside.join();
  sleeper.join();
}

const bool kHeeds = heeds_remote_fences();  // needs one thread

// The sender sets no fence, so the sleeper's remote fence must suffice.
TEST(Doorbell, NoRingOfAnUnfencedSenderIsLost) {
  constexpr int kRings = 200000;
  if (!kHeeds || !remote_fence()) GTEST_SKIP() << "the kernel refuses remote fences";
  Doorbell bell;
  std::atomic<int> given{0}, taken{0};
  std::atomic<int64_t> longest{0};
  std::thread sleeper([&] {
    for (int seen = 0; seen < kRings && longest < kLost / 2; taken.store(++seen)) {
      const int64_t before = now_us();
      while (given.load(std::memory_order_acquire) == seen) {
        const uint32_t armed = bell.arm();
        const int64_t most = Doorbell::longest_sleep(kLost);
        if (given.load(std::memory_order_acquire) != seen)
          bell.disarm();
        else
          bell.sleep(armed, most);
      }
      longest = std::max(longest.load(), now_us() - before);
    }
  });
  for (int i = 0; i < kRings && longest < kLost / 2; ++i) {
    for (int moment = i % 64; moment > 0; --moment) relax();
    given.store(i + 1, std::memory_order_release);
    bell.ring(false);
    while (taken.load(std::memory_order_acquire) <= i && longest < kLost / 2)
      if (i % 2 == 0) std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_LT(longest, kLost / 2);
}

// The owner has closed the read end, or has reused the descriptor for another file.
TEST(Doorbell, ARingForWhoIsLeavingHarmsNobody) {
  void* const memory =
      ::mmap(nullptr, sizeof(Doorbell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (const bool used_again : {false, true}) {
    auto* const bell = new (memory) Doorbell;
    char name[] = "/tmp/tern_doorbell_XXXXXX";
    const int file = ::mkstemp(name);
    int ready[2];
    ASSERT_GE(file, 0);
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int reading = ::dup(0), writing = ::dup(0);
      ::close(reading);
      ::close(writing);
      const BellPipe pipe(*bell);
      (void)bell->arm();
      ::close(reading);
      if (used_again) ::dup2(file, writing);
      (void)!::write(ready[1], "", 1);
      ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    bell->ring(true);
    EXPECT_EQ(::lseek(file, 0, SEEK_END), 0) << "a byte for the bell went into a file";
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
    ::close(file);
    ::close(ready[0]);
    ::close(ready[1]);
    ::unlink(name);
  }
  ::munmap(memory, sizeof(Doorbell));
}

}  // namespace
}  // namespace tern
