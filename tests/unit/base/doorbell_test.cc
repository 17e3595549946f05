// SPDX-License-Identifier: Apache-2.0
// Doorbell: with sleeps that end only when rung, no ring is lost among threads that arm and disarm.
#include "base/doorbell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace tern {
namespace {

constexpr int64_t kLost = 5'000'000;  // microseconds: stands for a sleep without end

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TEST(Doorbell, ARingBetweenArmingAndSleepingIsNotSleptThrough) {
  Doorbell bell;
  const uint32_t armed = bell.arm();
  bell.ring(true);
  const uint32_t other = bell.arm();  // another thread, after the ring
  const int64_t before = now_us();
  bell.sleep(armed, kLost);
  EXPECT_LT(now_us() - before, kLost / 2);
  bell.ring(true);
  bell.sleep(other, kLost);
  EXPECT_LT(now_us() - before, kLost / 2);
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

// Two threads of the owner; one only arms and disarms.
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

}  // namespace
}  // namespace tern
