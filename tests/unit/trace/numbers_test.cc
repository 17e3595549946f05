// SPDX-License-Identifier: Apache-2.0
// Numbers of messages, size classes, rows of a profile, the clock.
#include "trace/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

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

TEST(Profile, FindsARowAgainInAFullTable) {
  ProfileMemory memory;
  Profile profile(memory.area);
  const auto call = [](uint32_t site, uint32_t group) {
    static Record record;
    record = call_of(site, 100);
    return ProfiledCall{record, group, 0, kNoPeer};
  };
  std::vector<ProfileRow*> rows;
  for (uint32_t i = 0; i + 1 < kProfileRows; ++i) rows.push_back(&profile.row(call(i / 3, i % 3)));
  for (uint32_t i = 0; i + 1 < kProfileRows; ++i) {
    ASSERT_EQ(&profile.row(call(i / 3, i % 3)), rows[i]) << i;
    EXPECT_EQ(rows[i]->group, i % 3);
  }
  EXPECT_EQ(&profile.row(call(9999, 1)), &profile.row(call(9999, 2)));
}

TEST(Profile, KnowsItsCostlySites) {
  const ProfileMemory memory;
  Profile profile(memory.area);
  ProfileCache cache;
  EXPECT_TRUE(costly_sites(memory.area, 0.02).empty());
  for (const auto& [site, ns] : {std::pair{1u, 1}, {2u, 97}, {3u, 2}})
    cache.add(profile, {call_of(site, ns), 1, 0, kNoPeer}, false);
  EXPECT_EQ(costly_sites(memory.area, 0.02), (std::set<uint32_t>{2, 3}));
}

TEST(Profile, NamesTheRankWithMostWaits) {
  ProfileMemory memory;
  Profile profile(memory.area);
  ProfileCache cache;
  for (const auto& [cause, ns] : {std::pair{1, 10}, {2, 30}, {1, 5}, {2, 30}})
    cache.add(profile, {call_of(1, 100), 1, ns, cause}, true);
  const auto& row = *reinterpret_cast<const ProfileRow*>(memory.area.profile());
  EXPECT_EQ(row.waits[0].cause, 2);
  EXPECT_EQ(row.waits[0].ns, 75);
  EXPECT_EQ(row.calls, 4);
  EXPECT_EQ(row.bytes, 32);
  EXPECT_EQ(row.sizes[2], 4u);
}

/// A second of a rank with one call at "solve", in a group of two.
void run_rank(const ProfileMemory& memory, Record record, const ProfiledCall& like) {
  AreaHead& head = memory.area.head();
  head.pid = 1;
  head.end_ns = 1'000'000'000;
  const std::string text =
      "function\t3\tMPI_Barrier\nsite\t1\t./a(solve+0x4)\nsite\t2\t./a(solve+0x9)\n"
      "group\t1\tMPI_COMM_WORLD\t0-1\t-\n";
  std::memcpy(memory.area.definitions(), text.data(), text.size());
  head.definitions = text.size();
  Profile profile(memory.area);
  ProfileCache cache;
  cache.add(profile, {record, 1, like.waited_ns, like.cause, like.waited}, false);
}

Record barrier_of(int64_t ns) {
  Record record = call_of(1, ns);
  record.kind = RecordKind::kCollective;
  return record;
}

const ProfiledCall kNoWait{{}, 1, 0, kNoPeer};

TEST(Page, FindsNothingInARunWithoutWaits) {
  Page page("./a");
  ProfileMemory memory[2];
  for (int rank = 0; rank < 2; ++rank) {
    run_rank(memory[rank], barrier_of(100'000'000 + rank), kNoWait);
    page.add(rank, memory[rank].area);
  }
  EXPECT_TRUE(page.waits().empty()) << page.text();
  EXPECT_NE(page.text().find("No sum of waits"), std::string::npos) << page.text();
}

TEST(Page, NamesLateReceiversAndHoldersOfLocks) {
  for (const auto& [kind, waited, expected, words] :
       {std::tuple{RecordKind::kSend, Waited::kReceiver, WaitState::Kind::kLateReceiver,
                   "rank 1 received after the send was called"},
        {RecordKind::kEpoch, Waited::kLock, WaitState::Kind::kLock, "rank 1 held the lock"}}) {
    Page page("./a");
    const ProfileMemory memory;
    Record record = call_of(1, 400'000'000);
    record.kind = kind;
    run_rank(memory, record, {record, 1, 300'000'000, 1, waited});
    page.add(0, memory.area);
    const std::vector<WaitState> waits = page.waits();
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].kind, expected);
    EXPECT_EQ(waits[0].cause, 1);
    EXPECT_NEAR(waits[0].seconds, 0.3, 1e-9);
    EXPECT_NE(page.text().find(words), std::string::npos) << page.text();
  }
}

TEST(Page, HasOneRowForEqualWords) {
  Page page("./a");
  const ProfileMemory memory;
  run_rank(memory, call_of(1, 100'000'000), kNoWait);
  Profile profile(memory.area);
  ProfileCache cache;
  cache.add(profile, {call_of(2, 100'000'000), 1, 0, kNoPeer}, false);
  page.add(0, memory.area);
  const std::string text = page.text();
  EXPECT_EQ(text.find("MPI_Barrier at solve"), text.rfind("MPI_Barrier at solve")) << text;
  EXPECT_NE(text.find("0.200 "), std::string::npos) << text;
}

TEST(Page, NamesTheNumberOfLostLines) {
  Page page("./a");
  const ProfileMemory memory;
  run_rank(memory, barrier_of(100'000'000), kNoWait);
  memory.area.head().lost_lines = 17;
  page.add(0, memory.area);
  EXPECT_NE(page.text().find("17 places or groups have no names"), std::string::npos)
      << page.text();
}

TEST(Page, ComputesWaitsOfACollective) {
  Page page("./a");
  ProfileMemory memory[2];
  for (int rank = 0; rank < 2; ++rank) {
    run_rank(memory[rank], barrier_of(rank == 0 ? 400'000'000 : 100'000'000), kNoWait);
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
