// SPDX-License-Identifier: Apache-2.0
// The handle table under the fuzz target's driver, and under look-ups concurrent with frees.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "../../fuzz/handles.hpp"

namespace {

using namespace tern;

TEST(Handles, RandomProgramsAgreeWithTheModel) {
  std::mt19937_64 random(20250605);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> program(4096);
    for (uint8_t& byte : program) byte = static_cast<uint8_t>(random());
    fuzz::drive_handles(program.data(), program.size());
  }
}

TEST(Handles, GarbageWordsNameNothing) {
  const core::HandleTable table;
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) ASSERT_EQ(table.find<core::Info>(random()), nullptr);
  for (uintptr_t word = 0; word < 70000; ++word) ASSERT_EQ(table.find<core::Info>(word), nullptr);
}

TEST(Handles, AFreedWordStaysDeadWhenItsPlaceIsUsedAgain) {
  core::HandleTable table;
  core::Info first, second;
  const uintptr_t word = table.insert(first);
  table.erase(first);
  const uintptr_t next = table.insert(second);
  EXPECT_EQ(static_cast<uint32_t>(word), static_cast<uint32_t>(next)) << "the place is used again";
  EXPECT_EQ(table.find<core::Info>(word), nullptr);
  EXPECT_EQ(table.find<core::Info>(next), &second);
  EXPECT_EQ(table.from_int(static_cast<int>(next & 0x7fffffff)), next);
  table.erase(second);
}

TEST(Handles, LookUpWhileOthersInsertAndErase) {
  core::HandleTable table;
  core::Info kept;
  const uintptr_t word = table.insert(kept);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::vector<core::Info> infos(64);
    for (int round = 0; round < 500; ++round) {
      for (core::Info& info : infos) table.insert(info);
      for (core::Info& info : infos) table.erase(info);
    }
    stop = true;
  });
  while (!stop) ASSERT_EQ(table.find<core::Info>(word), &kept);
  writer.join();
  table.erase(kept);
}

}  // namespace
