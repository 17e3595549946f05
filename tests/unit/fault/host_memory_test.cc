// SPDX-License-Identifier: Apache-2.0
#include "fault/host_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "base/error.hpp"

namespace tern::fault::test {
namespace {

constexpr HostMemory::Shape kShape{10, 3};

Fd file_for(const HostMemory::Shape& shape) {
  return make_memfd("host-memory-test", HostMemory::bytes_for(shape));
}

const auto kTakesNone = [](const BoardEntry&) { return false; };

TEST(HostMemory, IsOneForAllWhoAttach) {
  const Fd file = file_for(kShape);
  const HostMemory made = HostMemory::create(file.get(), kShape);
  const HostMemory found = HostMemory::attach(file.get());
  EXPECT_EQ(found.shape().deaths, 10U);
  EXPECT_EQ(found.shape().members, 3U);
  EXPECT_FALSE(found.has_entered(2));
  made.enter(2, 7, 1234, 5);
  EXPECT_TRUE(found.has_entered(2));
  EXPECT_EQ(found.process(2), 7U);
  EXPECT_EQ(found.pid(2, 5), 1234);
  EXPECT_EQ(found.pid(2, 6), 0);  // pids of another namespace
  EXPECT_FALSE(found.has_left(2));
  made.leave(2);
  EXPECT_TRUE(found.has_left(2));
  DeathList list = made.deaths();
  EXPECT_EQ(list.add(7), 0U);
  EXPECT_EQ(found.deaths().length(), 1U);
  EXPECT_EQ(found.deaths().at(0), 7U);
}

TEST(HostMemory, RefusesOtherFiles) {
  const Fd small = make_memfd("small", 16);
  EXPECT_THROW((void)HostMemory::attach(small.get()), Error);
  const Fd zeros = file_for(kShape);
  EXPECT_THROW((void)HostMemory::attach(zeros.get()), Error);
  const Fd cut = make_memfd("cut", HostMemory::bytes_for(kShape) / 2);
  const HostMemory whole = HostMemory::create(zeros.get(), kShape);
  std::vector<char> head(4096);
  ASSERT_EQ(::pread(zeros.get(), head.data(), head.size(), 0), 4096);
  ASSERT_EQ(::pwrite(cut.get(), head.data(), head.size(), 0), 4096);
  EXPECT_THROW((void)HostMemory::attach(cut.get()), Error);
}

TEST(HostMemory, FindsEntriesByIdUntilTheTableIsFull) {
  const Fd file = file_for(kShape);
  const HostMemory memory = HostMemory::create(file.get(), kShape);
  std::set<BoardEntry*> all;
  // Equal remainders collide.
  for (uint64_t i = 1; i <= HostMemory::kEntries; ++i) {
    const uint64_t id = i % 3 == 0 ? i * HostMemory::kEntries : i;
    EXPECT_EQ(memory.find(1, id), nullptr);
    BoardEntry* const entry = memory.claim(1, id, kTakesNone);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(all.insert(entry).second);
    EXPECT_EQ(memory.find(1, id), entry);
    EXPECT_EQ(memory.find(0, id), nullptr);  // a table of each member
  }
  EXPECT_EQ(memory.claim(1, 1 << 30, kTakesNone), nullptr);
  BoardEntry* const used = memory.find(1, 2);
  used->halves[1].number = 5;
  used->left = 5;
  BoardEntry* const again =
      memory.claim(1, 1 << 30, [used](const BoardEntry& one) { return &one == used; });
  EXPECT_EQ(again, used);
  EXPECT_EQ(again->halves[1].number, 0U);
  EXPECT_EQ(again->left, 0U);
  EXPECT_EQ(memory.find(1, 2), nullptr);
  EXPECT_EQ(memory.find(1, 1 << 30), used);
}

TEST(HostMemory, KeepsTheLastTwoResults) {
  const Fd file = file_for(kShape);
  const HostMemory memory = HostMemory::create(file.get(), kShape);
  BoardEntry* const entry = memory.claim(2, 77, kTakesNone);
  EXPECT_FALSE(memory.recorded(*entry, 1));
  const HostResult first{{6, {0, 1023}, {0}}, 2}, second{{5, {}, {}}, 0}, third{{1, {3}, {3}}, 1};
  memory.record(*entry, 1, first);
  memory.record(*entry, 2, second);
  EXPECT_EQ(memory.recorded(*entry, 1), first);
  EXPECT_EQ(memory.recorded(*entry, 2), second);
  memory.record(*entry, 3, third);
  EXPECT_FALSE(memory.recorded(*entry, 1));
  EXPECT_EQ(memory.recorded(*entry, 3), third);
}

TEST(HostMemory, RingsForSleepersOnly) {
  const Fd file = file_for(kShape);
  const HostMemory memory = HostMemory::create(file.get(), kShape);
  const uint32_t before = memory.bell().value;
  memory.ring();
  EXPECT_EQ(memory.bell().value, before);
  memory.sleeps(true);
  memory.ring();
  EXPECT_NE(memory.bell().value, before);
  memory.sleeps(false);
}

}  // namespace
}  // namespace tern::fault::test
