// SPDX-License-Identifier: Apache-2.0
// The ring of a pair: frames of every length arrive in order, laps wrap, a full ring refuses.
#include "btl/sm/ring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace tern::btl::sm {
namespace {

constexpr uint32_t kLines = 64;

struct Pair {
  std::vector<Line> lines = std::vector<Line>(kLines);
  RingControl control{};
  RingWriter writer{lines.data(), kLines, &control};
  RingReader reader{lines.data(), kLines, &control};

  bool send(uint32_t number, size_t payload) {
    Line* line = writer.reserve(lines_for(payload));
    if (line == nullptr) return false;
    std::memset(line->bytes + sizeof(Header), static_cast<int>(number & 0xff), payload);
    writer.publish(line, Header{0, 1, static_cast<uint16_t>(payload), number, 0, 0},
                   lines_for(payload));
    return true;
  }
  bool receive(uint32_t number, size_t payload) {
    Header header{};
    const Line* line = reader.front(&header);
    if (line == nullptr) return false;
    EXPECT_EQ(header.context, number);
    EXPECT_EQ(header.bytes, payload);
    for (size_t i = 0; i < payload; ++i)
      EXPECT_EQ(static_cast<uint8_t>(line->bytes[sizeof(Header) + i]), number & 0xff);
    reader.consume(lines_for(payload));
    return true;
  }
};

TEST(Ring, EmptyRingHasNothing) {
  Pair pair;
  Header header{};
  EXPECT_EQ(pair.reader.front(&header), nullptr);
}

TEST(Ring, FullRingRefusesUntilTheReaderHasConsumed) {
  Pair pair;
  for (uint32_t i = 0; i < kLines; ++i) ASSERT_TRUE(pair.send(i, 8));
  EXPECT_FALSE(pair.send(kLines, 8));
  for (uint32_t i = 0; i < kLines; ++i) ASSERT_TRUE(pair.receive(i, 8));
  EXPECT_TRUE(pair.send(kLines, 8));
}

TEST(Ring, AClearedRingServesAnotherWriter) {
  for (const bool has_ended : {false, true}) {
    Pair pair;
    pair.control.owner = RingControl::name(3, 5, 1);
    for (uint32_t i = 0; i < kLines + 7; ++i) {
      ASSERT_TRUE(pair.send(i, 8));
      if (!has_ended || i < kLines) ASSERT_TRUE(pair.receive(i, 8));
    }
    pair.control.farewell = RingControl::kAllRead;
    pair.reader.clear_all(has_ended);
    EXPECT_EQ(pair.control.owner, 0U);
    EXPECT_EQ(pair.control.farewell, 0U);
    pair.reader = RingReader(pair.lines.data(), kLines, &pair.control);
    pair.writer = RingWriter(pair.lines.data(), kLines, &pair.control);
    Header header{};
    EXPECT_EQ(pair.reader.front(&header), nullptr);
    for (uint32_t i = 0; i < 3 * kLines; ++i) {
      ASSERT_TRUE(pair.send(i, 100));
      ASSERT_TRUE(pair.receive(i, 100));
    }
  }
}

TEST(Ring, AnOwnerHasWorldRankAndChannel) {
  const uint64_t name = RingControl::name(255, 70000, 7);
  EXPECT_EQ(RingControl::world_of(name), 255U);
  EXPECT_EQ(RingControl::rank_of(name), 70000U);
  EXPECT_EQ(RingControl::channel_of(name), 7U);
}

TEST(Ring, CreditIsNeverPublishedInSilence) {
  Pair pair;
  std::mt19937 random(5);
  for (uint32_t i = 0; i < 20000; ++i) {
    const size_t payload = random() % 700;
    ASSERT_TRUE(pair.send(i, payload));
    const uint64_t before = pair.control.consumed;
    Header header{};
    ASSERT_NE(pair.reader.front(&header), nullptr);
    const bool told = pair.reader.consume(lines_for(payload));
    ASSERT_EQ(told, pair.control.consumed != before) << i;
  }
}

TEST(Ring, FramesOfManyLinesOverManyLaps) {
  Pair pair;
  std::mt19937 random(3);
  for (uint32_t i = 0; i < 100000; ++i) {
    const size_t payload = random() % 400;
    ASSERT_TRUE(pair.send(i, payload));
    ASSERT_TRUE(pair.receive(i, payload));
  }
}

TEST(Ring, StalePayloadIsNoFrame) {
  Pair pair;
  for (uint32_t lap = 0; lap < 600; ++lap) {
    const uint32_t mark = lap & 0xff;
    ASSERT_TRUE(pair.send(mark, 300));
    ASSERT_TRUE(pair.receive(mark, 300));
    Header header{};
    ASSERT_EQ(pair.reader.front(&header), nullptr) << lap;
  }
}

TEST(Ring, TwoThreads) {
  Pair pair;
  constexpr uint32_t kFrames = 20000;
  const auto payload_of = [](uint32_t i) -> size_t { return i * 7 % 350; };
  std::thread writer([&] {
    for (uint32_t i = 0; i < kFrames; ++i)
      while (!pair.send(i, payload_of(i))) std::this_thread::yield();
  });
  for (uint32_t i = 0; i < kFrames; ++i)
    while (!pair.receive(i, payload_of(i))) std::this_thread::yield();
  writer.join();
}

}  // namespace
}  // namespace tern::btl::sm
