// SPDX-License-Identifier: Apache-2.0
// Pool: blocks queued for one reader leave blocks for the other readers.
#include "btl/sm/pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tern::btl::sm {
namespace {

constexpr uint32_t kBlocks = 32;

struct Pools {
  Segment segment = Segment::create({1, 1, 64, kBlocks}, 0);
  Pool pool{segment, 0};
  std::vector<Pool::InFlight> readers;
  explicit Pools(size_t count) : readers(count) {
    for (Pool::InFlight& reader : readers) pool.add(reader);
  }
  uint32_t flood(Pool::InFlight& reader, std::vector<uint32_t>* blocks = nullptr) {
    for (uint32_t block; (block = pool.take(reader)) != Pool::kNone;) {
      pool.sent(block, reader);
      if (blocks != nullptr) blocks->push_back(block);
    }
    return reader.count();
  }
  void read(uint32_t block) { segment.flag(block).busy.store(0, std::memory_order_release); }
};

TEST(Pool, ReadersThatStallLeaveRoomForOthers) {
  Pools all(6);
  EXPECT_GE(all.flood(all.readers[0]), kBlocks / 2);
  EXPECT_LT(all.flood(all.readers[0]), kBlocks);
  for (size_t i = 1; i < 4; ++i) EXPECT_GE(all.flood(all.readers[i]), 1u) << i;
  EXPECT_NE(all.pool.take(all.readers[4]), Pool::kNone);
}

TEST(Pool, WhatOneReaderGivesBackServesAnother) {
  Pools all(2);
  std::vector<uint32_t> blocks;
  all.flood(all.readers[0], &blocks);
  const uint32_t before = all.flood(all.readers[1]);
  for (const uint32_t block : blocks) all.read(block);
  EXPECT_GT(all.flood(all.readers[1]), before);
  EXPECT_EQ(all.pool.in_flight(all.readers[0]), 0u);
}

TEST(Pool, ARemovedReaderLeavesItsBlocks) {
  Pools all(2);
  const uint32_t alone = all.flood(all.readers[0]);
  all.pool.remove(all.readers[0]);
  EXPECT_EQ(all.readers[0].count(), 0U);
  EXPECT_GE(all.flood(all.readers[1]), alone);
}

TEST(Pool, TheBlockReadLastIsFilledNext) {
  Pools all(1);
  const uint32_t first = all.pool.take(all.readers[0]);
  all.pool.sent(first, all.readers[0]);
  const uint32_t second = all.pool.take(all.readers[0]);
  EXPECT_NE(second, first);
  all.pool.sent(second, all.readers[0]);
  all.read(first);
  EXPECT_EQ(all.pool.take(all.readers[0]), first);
}

}  // namespace
}  // namespace tern::btl::sm
