// SPDX-License-Identifier: Apache-2.0
// Endpoints between hosts: order of frames, and lost frames.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "btl/net/endpoint.hpp"
#include "core/peer.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

struct Taken : Sink {
  void arrived(Endpoint&, const Frame& frame) noexcept override {
    tags.push_back(frame.header.tag);
  }
  std::vector<int32_t> tags;
};

struct Deaf final : NetEndpoint {
  using NetEndpoint::NetEndpoint;
  bool send(const Header&, const void*) noexcept override { return true; }
  std::byte* begin(size_t) noexcept override { return nullptr; }
  void commit(const Header&) noexcept override {}
  size_t max_payload() const noexcept override { return 64; }
  const char* transport() const noexcept override { return "deaf"; }
  const char* reason() const noexcept override { return "a test"; }

  bool waits = false, answers = false;
  int probes = 0;
  void move() noexcept { note_moved(); }

 protected:
  bool is_waiting() const noexcept override { return waits; }
  bool host_answers() const noexcept override { return answers; }
  void probe() noexcept override { ++probes; }
  void fail(const std::string& why) noexcept override {
    (void)fate.end(failure(MPI_ERR_PROC_ABORTED, "%s", why.c_str()));
  }
};

class NetEndpointTest : public testing::Test {
 protected:
  [[nodiscard]] bool come(uint16_t number, uint8_t mark = 0) {
    WireHead head{};
    head.header.tag = number;
    head.header.mark = mark;
    head.origin.sequence = number;
    return endpoint_.arrive(head, {});
  }
  core::Peer peer_{};
  Taken taken_;
  Deaf endpoint_{taken_, Destination{peer_, 0, 1}, Caps{}, Origin{}};
};

TEST_F(NetEndpointTest, HandsFramesOnInTheirOrder) {
  for (const int number : {2, 0, 3, 1}) EXPECT_TRUE(come(static_cast<uint16_t>(number)));
  EXPECT_EQ(taken_.tags, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(NetEndpointTest, RefusesFramesThatCameAndThoseFarAhead) {
  EXPECT_TRUE(come(0));
  EXPECT_FALSE(come(0));
  EXPECT_FALSE(come(5000));
  EXPECT_TRUE(come(2));
  EXPECT_FALSE(come(2));
}

TEST_F(NetEndpointTest, NoFrameIsLostWhileAllHaveCome) {
  EXPECT_TRUE(come(0));
  EXPECT_TRUE(come(1, kProbe));
  for (const int64_t now : {1, 100, 1000}) EXPECT_FALSE(endpoint_.has_lost_frame(now, 50));
}

TEST_F(NetEndpointTest, AFrameBehindWhichOthersCameIsLostInTime) {
  EXPECT_TRUE(come(1));
  EXPECT_FALSE(endpoint_.has_lost_frame(100, 50));
  EXPECT_FALSE(endpoint_.has_lost_frame(149, 50));
  EXPECT_TRUE(endpoint_.has_lost_frame(150, 50));
}

TEST_F(NetEndpointTest, TheLastFrameIsMissedByAProbe) {
  EXPECT_TRUE(come(0));
  EXPECT_TRUE(come(2, kProbe));
  EXPECT_FALSE(endpoint_.has_lost_frame(100, 50));
  EXPECT_TRUE(endpoint_.has_lost_frame(150, 50));
}

TEST_F(NetEndpointTest, TimeBeginsAnewWithEachFrame) {
  EXPECT_TRUE(come(2));
  EXPECT_FALSE(endpoint_.has_lost_frame(100, 50));
  EXPECT_TRUE(come(0));
  EXPECT_FALSE(endpoint_.has_lost_frame(160, 50));
  EXPECT_TRUE(come(1));
  EXPECT_FALSE(endpoint_.has_lost_frame(300, 50));
  EXPECT_TRUE(come(4, kProbe));
  EXPECT_FALSE(endpoint_.has_lost_frame(310, 50));
  EXPECT_TRUE(come(3));
  EXPECT_FALSE(endpoint_.has_lost_frame(500, 50));
}

TEST_F(NetEndpointTest, NumbersGoRound) {
  for (uint32_t number = 0; number < 70000; ++number)
    ASSERT_TRUE(come(static_cast<uint16_t>(number)));
  EXPECT_TRUE(come(static_cast<uint16_t>(70000), kProbe));
  EXPECT_FALSE(endpoint_.has_lost_frame(1, 50));
  EXPECT_FALSE(endpoint_.has_lost_frame(100, 50));
}

TEST_F(NetEndpointTest, AnOldProbeTellsNothingWhenNumbersHaveGoneRound) {
  EXPECT_TRUE(come(20, kProbe));
  for (uint32_t number = 0; number < 65536 + 10; ++number)
    ASSERT_TRUE(come(static_cast<uint16_t>(number)));
  EXPECT_FALSE(endpoint_.has_lost_frame(1, 50));
  EXPECT_FALSE(endpoint_.has_lost_frame(100, 50));
}

constexpr int64_t kSecond = 1'000'000'000, kTimeout = 60 * kSecond;

TEST_F(NetEndpointTest, ProbesAnIdlePeerButNeverFails) {
  for (int64_t now = kSecond; now < 10 * kTimeout; now += kSecond / 2)
    endpoint_.look_after(now, kTimeout);
  EXPECT_FALSE(endpoint_.fate.dead_locked());
  EXPECT_NEAR(endpoint_.probes, 10 * 60 / 1.5, 2);
}

TEST_F(NetEndpointTest, FailsAfterTheTimeoutWithoutASign) {
  endpoint_.waits = true;
  int64_t now = kSecond;
  for (; now < kSecond + kTimeout; now += kSecond / 2) {
    endpoint_.look_after(now, kTimeout);
    ASSERT_FALSE(endpoint_.fate.dead_locked()) << now;
  }
  endpoint_.look_after(now, kTimeout);
  ASSERT_TRUE(endpoint_.fate.dead_locked());
  EXPECT_NE(std::string(endpoint_.fate.why()).find("TERN_NET_TIMEOUT"), std::string::npos);
}

TEST_F(NetEndpointTest, ASignOfTheHostBeginsTheTimeoutAnew) {
  endpoint_.waits = true;
  for (int64_t now = kSecond; now < 10 * kTimeout; now += kSecond / 2) {
    if (now % (kTimeout - kSecond) == 0) endpoint_.move();
    endpoint_.look_after(now, kTimeout);
  }
  EXPECT_FALSE(endpoint_.fate.dead_locked());
  endpoint_.answers = true;
  for (int64_t now = 10 * kTimeout; now < 20 * kTimeout; now += kSecond)
    endpoint_.look_after(now, kTimeout);
  EXPECT_FALSE(endpoint_.fate.dead_locked());
}

}  // namespace
}  // namespace tern::btl::net
