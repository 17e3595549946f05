// SPDX-License-Identifier: Apache-2.0
// A peer that damages shared memory: every value is checked before use.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "tests/fuzz/connection_info.hpp"

namespace tern::btl::sm {
namespace {

class Damaged : public testing::Test {
 protected:
  Damaged() {
    process_.boot = &boot_;
    process_.world_size = process_.node.ranks = 2;
    struct stat status {};
    EXPECT_EQ(::fstat(peer_.fd().get(), &status), 0);
    address_ = peer_.address(status.st_ino);
    put(fuzz::InfoPeer::connection_info(address_));
    sm_ = std::make_unique<Sm>(process_, sink_, book_);
  }
  void put(const ConnectionInfo& info) {
    std::memcpy(boot_.info_of_peer.data(), &info, sizeof info);
  }
  Endpoint* connect_afresh() {
    AddressBook book(process_);
    Sm sm(process_, sink_, book);
    return sm.connect(process_.peer(1), 0);
  }
  void write(const Header& header, uint32_t block = 0) {
    const Segment& segment = sm_->segment();
    segment.control(0).owner = 2;
    segment.head().claimed[0].rings = 1;
    std::memcpy(segment.ring(0)->bytes + sizeof header, &block, sizeof block);
    std::memcpy(segment.ring(0)->bytes, &header, sizeof header);
  }

  core::Process process_;
  fuzz::InfoBoot boot_;
  fuzz::InfoPeer peer_;
  fuzz::ReadingSink sink_;
  SmAddress address_{};
  AddressBook book_{process_};
  std::unique_ptr<Sm> sm_;
};

TEST_F(Damaged, ATrueFrameArrives) {
  write({1, 1, 40, 0, 0, 1});
  EXPECT_EQ(sm_->progress(), 1);
  EXPECT_FALSE(boot_.aborted);
}

TEST_F(Damaged, AFrameLongerThanTheRingEndsTheJob) {
  write({1, 1, 65535, 0, 0, 1});
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted);
  EXPECT_EQ(sm_->progress(), 0);
}

TEST_F(Damaged, AFrameInABlockThatIsNotThereEndsTheJob) {
  write({1, kPooled | 1, 100, 0, 0, 1}, fuzz::InfoPeer::kShape.blocks);
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted);
}

TEST_F(Damaged, AFrameLargerThanItsBlockEndsTheJob) {
  write({1, kPooled | 1, kBlockBytes + 1, 0, 0, 1}, fuzz::InfoPeer::kShape.blocks - 1);
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted);
}

TEST_F(Damaged, RingsOfNobodyEndTheJob) {
  sm_->segment().control(0).owner = 4'000'000'000;
  sm_->segment().head().claimed[0].rings = 1;
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted);
}

TEST_F(Damaged, RingsOfAChannelThatIsNotThereEndTheJob) {
  sm_->segment().control(0).owner = RingControl::name(0, 1, 1);
  sm_->segment().head().claimed[0].rings = 1;
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted);
}

TEST_F(Damaged, RingsOfStrangersThatThisRankHasNotMetAreLeftAlone) {
  const Segment& segment = sm_->segment();
  segment.control(segment.shape().first_stranger_ring(0)).owner = RingControl::name(7, 1, 0);
  segment.head().claimed[0].by_strangers = 1;
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_FALSE(boot_.aborted);
  segment.control(0).owner = RingControl::name(7, 1, 0);
  segment.head().claimed[0].rings = 1;
  EXPECT_EQ(sm_->progress(), 0);
  EXPECT_TRUE(boot_.aborted) << "a stranger in a ring for ranks of the own world";
}

TEST_F(Damaged, MoreRingsThanThereAreAreNotLookedAt) {
  write({1, 1, 8, 0, 0, 1});
  sm_->segment().control(1).owner = 0;
  sm_->segment().head().claimed[0].rings = UINT32_MAX;
  EXPECT_EQ(sm_->progress(), 1);
}

TEST_F(Damaged, AddressesThatNameSomethingElseAreRefused) {
  for (const auto& change : std::vector<void (*)(SmAddress&)>{
           [](SmAddress& address) { address.pid = ::getpid(); },
           [](SmAddress& address) { address.fd = 0; }, [](SmAddress& address) { ++address.inode; },
           [](SmAddress& address) { address.bytes = 16; }}) {
    SmAddress changed = address_;
    change(changed);
    put(fuzz::InfoPeer::connection_info(changed));
    EXPECT_THROW(connect_afresh(), Error);
  }
}

TEST_F(Damaged, ConnectionInfosThatMakeNoSenseAreRefused) {
  for (const auto& change : std::vector<void (*)(ConnectionInfo&)>{
           [](ConnectionInfo& info) { ++info.wire_version; },
           [](ConnectionInfo& info) { ++info.parameter_hash; },
           [](ConnectionInfo& info) { info.channels = 3; },
           [](ConnectionInfo& info) { info.channels = 1u << 14; },
           [](ConnectionInfo& info) { info.used = 0; }, [](ConnectionInfo& info) { --info.used; },
           [](ConnectionInfo& info) { info.addresses.front() = std::byte{'x'}; }}) {
    ConnectionInfo changed = fuzz::InfoPeer::connection_info(address_);
    change(changed);
    put(changed);
    EXPECT_THROW(connect_afresh(), Error);
  }
  put(fuzz::InfoPeer::connection_info(address_));
  EXPECT_NE(connect_afresh(), nullptr);
}

TEST_F(Damaged, AHeadThatMakesNoSenseIsRefused) {
  auto& head = *reinterpret_cast<SegmentHead*>(peer_.memory());
  head.ring_lines = 3;
  EXPECT_THROW(sm_->connect(process_.peer(1), 0), Error);
  head.ring_lines = 64;
  head.rings = 1u << 31;
  EXPECT_THROW(sm_->connect(process_.peer(1), 0), Error);
  head.rings = 2;
  head.claimed[0].rings = 2;
  EXPECT_THROW(sm_->connect(process_.peer(1), 0), Error) << "no ring is left";
}

TEST_F(Damaged, NobodyCanTakePagesAway) {
  EXPECT_TRUE(has_fixed_size(peer_.fd().get()));
  EXPECT_NE(::ftruncate(peer_.fd().get(), 0), 0);
  EXPECT_NE(::ftruncate(sm_->segment().fd().get(), 0), 0);
}

TEST(DamagedProgram, RandomPrograms) {
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    std::vector<uint8_t> program(200);
    for (uint8_t& byte : program) byte = static_cast<uint8_t>(random());
    fuzz::drive_connection_info(program.data(), program.size());
  }
}

}  // namespace
}  // namespace tern::btl::sm
