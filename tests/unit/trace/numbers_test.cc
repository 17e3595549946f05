// SPDX-License-Identifier: Apache-2.0
// Numbers of messages, size classes, rows of a profile, the clock.
#include "trace/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "trace/page.hpp"
#include "trace/profile.hpp"
#include "trace/ticks.hpp"

namespace tern::trace {
namespace {

TEST(MessageNumbers, CountPerPeerAndTag) {
  MessageNumbers numbers;
  for (int round = 1; round <= 3; ++round)
    for (int peer = 0; peer < 40; ++peer)
      for (int tag = 0; tag < 5; ++tag)
        ASSERT_EQ(numbers.next(peer, tag), static_cast<uint64_t>(round)) << peer << " " << tag;
  EXPECT_EQ(numbers.next(0, 5), 1u);
  EXPECT_EQ(numbers.next(-3, -1), 1u);
}

TEST(Profile, SizeClassesArePowersOfFour) {
  EXPECT_EQ(size_class(0), 0u);
  EXPECT_EQ(size_class(1), 0u);
  EXPECT_EQ(size_class(2), 1u);
  EXPECT_EQ(size_class(4), 1u);
  EXPECT_EQ(size_class(5), 2u);
  EXPECT_EQ(size_class(int64_t{1} << 20), 10u);
  EXPECT_EQ(size_class(INT64_MAX), kSizeClasses - 1);
}

struct ProfileMemory {
  AreaSizes sizes{};
  std::unique_ptr<std::byte[]> memory{new std::byte[sizes.bytes()]()};
  Area area{memory.get(), sizes};
};

Record call_of(uint32_t site, int64_t ns) {
  Record record{};
  record.function = 3;
  record.kind = RecordKind::kReceive;
  record.site = site;
  record.end = ns;
  record.bytes = 8;
  return record;
}

TEST(Profile, AFullTableCountsInItsLastRow) {
  ProfileMemory memory;
  Profile profile(memory.area);
  ProfileCache cache;
  for (uint32_t site = 1; site <= kProfileRows + 10; ++site)
    cache.add(profile, {call_of(site, 100), 1, 0, kNoPeer}, false);
  EXPECT_EQ(memory.area.head().profile_rows, kProfileRows);
  const auto* const rows = reinterpret_cast<const ProfileRow*>(memory.area.profile());
  EXPECT_EQ(rows[0].calls, 1);
  EXPECT_EQ(rows[kProfileRows - 1].calls, 11);
  EXPECT_EQ(rows[kProfileRows - 1].function, UINT16_MAX);
}

TEST(Profile, NamesTheRankWithMostWaits) {
  ProfileMemory memory;
  Profile profile(memory.area);
  ProfileCache cache;
  for (const auto& [cause, ns] : {std::pair{1, 10}, {2, 30}, {1, 5}, {2, 30}})
    cache.add(profile, {call_of(1, 100), 1, ns, cause}, true);
  const auto& row = *reinterpret_cast<const ProfileRow*>(memory.area.profile());
  EXPECT_EQ(row.cause, 2);
  EXPECT_EQ(row.waited_ns, 75);
  EXPECT_EQ(row.calls, 4);
  EXPECT_EQ(row.bytes, 32);
  EXPECT_EQ(row.sizes[2], 4u);
}

TEST(Page, ComputesWaitsOfACollective) {
  Page page("./a");
  ProfileMemory memory[2];
  for (int rank = 0; rank < 2; ++rank) {
    AreaHead& head = memory[rank].area.head();
    head.pid = 1;
    head.end_ns = 1'000'000'000;
    const std::string text =
        "function\t3\tMPI_Barrier\nsite\t1\t./a(solve+0x4)\ncomm\t1\tkey\tMPI_COMM_WORLD\t0-1\t-\n";
    std::memcpy(memory[rank].area.definitions(), text.data(), text.size());
    head.definitions = text.size();
    Profile profile(memory[rank].area);
    ProfileCache cache;
    Record record = call_of(1, rank == 0 ? 400'000'000 : 100'000'000);
    record.kind = RecordKind::kCollective;
    cache.add(profile, {record, 1, 0, kNoPeer}, false);
    page.add(rank, memory[rank].area);
  }
  const std::vector<WaitState> waits = page.waits();
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind, WaitState::Kind::kLateRank);
  EXPECT_EQ(waits[0].cause, 1);
  EXPECT_NEAR(waits[0].seconds, 0.3, 1e-9);
  EXPECT_NEAR(waits[0].share, 0.15, 1e-9);
  EXPECT_NE(page.text().find("MPI_Barrier at solve: rank 1 came last"), std::string::npos)
      << page.text();
}

TEST(Ticks, FollowTheClock) {
  Ticks ticks;
  ticks.start();
  int64_t before = ticks.now();
  const int64_t end = now_ns() + 20'000'000;
  int64_t worst = 0;
  while (now_ns() < end) {
    const int64_t low = now_ns();
    const int64_t now = ticks.now();
    const int64_t high = now_ns();
    EXPECT_GE(now, before);
    before = now;
    worst = std::max({worst, low - now, now - high});
  }
  EXPECT_LT(worst, 20'000);
}

}  // namespace
}  // namespace tern::trace
