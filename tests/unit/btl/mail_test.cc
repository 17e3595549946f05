// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/letters.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "btl/cuda_ipc/descriptors.hpp"
#include "btl/cuda_ipc/ledger.hpp"
#include "btl/cuda_ipc/outbox.hpp"

namespace tern::btl::cuda_ipc {
namespace {

ino_t inode_of(int descriptor) {
  struct stat about {};
  EXPECT_EQ(::fstat(descriptor, &about), 0);
  return about.st_ino;
}

int open_descriptors() {
  int count = 0;
  for (int i = 0; i < 1024; ++i) count += ::fcntl(i, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

class MailTest : public ::testing::Test {
 protected:
  MemoryHandle handle(uint32_t row, uint64_t bytes) {
    MemoryHandle made{};
    made.pid = ::getpid();
    made.bytes = bytes;
    made.listed = {ledger_.number(), ledger_.descriptor(), row};
    return made;
  }
  Wanted wanted(uint32_t row, uint64_t stamp) {
    return {{1, ::getpid(), true}, -1, ledger_.number(), row, stamp};
  }

  Ledger ledger_;
  Outbox outbox_{ledger_};
  Descriptors mine_{descriptor_ways(DescriptorWay::kSocket)};
  std::string why_;
};

TEST_F(MailTest, WhatIsAskedForComesAndIsTakenOnce) {
  const Fd memory = make_memfd("memory", 4096);
  EXPECT_FALSE(mine_.take(wanted(0, 0), &why_).valid());
  ASSERT_TRUE(mine_.missed());
  why_ = "something";
  mine_.ask(handle(5, 4096), &why_);
  EXPECT_EQ(why_, "") << "a reply may still come";
  EXPECT_FALSE(mine_.missed());
  Ask ask;
  Address from;
  ASSERT_TRUE(outbox_.next(&ask, &from));
  EXPECT_EQ(ask.row, 5u);
  EXPECT_EQ(ask.bytes, 4096u);
  EXPECT_FALSE(outbox_.next(&ask, &from));
  EXPECT_EQ(outbox_.readers().size(), 1u);
  outbox_.add(from, 0, 0, ledger_.descriptor());
  outbox_.add(from, 5, 77, memory.get());
  outbox_.send(from);
  EXPECT_EQ(inode_of(mine_.take(wanted(0, 0), &why_).get()), inode_of(ledger_.descriptor()));
  EXPECT_FALSE(mine_.take(wanted(5, 76), &why_).valid()) << "of other memory";
  EXPECT_EQ(inode_of(mine_.take(wanted(5, 77), &why_).get()), inode_of(memory.get()));
  EXPECT_FALSE(mine_.take(wanted(5, 77), &why_).valid());
}

TEST_F(MailTest, HundredsComeInSeveralLetters) {
  mine_.ask(handle(1, 4096), &why_);
  Ask ask;
  Address from;
  ASSERT_TRUE(outbox_.next(&ask, &from));
  for (uint32_t i = 1; i <= 300; ++i) outbox_.add(from, i, i, ledger_.descriptor());
  outbox_.send(from);
  for (uint32_t i = 1; i <= 300; ++i) EXPECT_TRUE(mine_.take(wanted(i, i), &why_).valid()) << i;
}

TEST_F(MailTest, NothingWaits) {
  mine_.ask(handle(1, 4096), &why_);
  Ask ask;
  Address from;
  ASSERT_TRUE(outbox_.next(&ask, &from));
  for (uint32_t i = 0; i < 2000; ++i) {
    outbox_.add(from, i, i, ledger_.descriptor());
    outbox_.send(from);
  }
  for (int i = 0; i < 2000; ++i) {
    mine_.ask(handle(1, 4096), &why_);
  }
  EXPECT_NE(why_.find("has not answered"), std::string::npos) << why_;
}

TEST_F(MailTest, WhoIsNotThereIsSaidToBe) {
  MemoryHandle no_process = handle(1, 4096);
  no_process.pid = 1;
  mine_.ask(no_process, &why_);
  EXPECT_NE(why_.find("cannot be asked"), std::string::npos) << why_;
}

TEST_F(MailTest, WrongLettersAreDroppedWithTheirDescriptors) {
  MailSocket stranger{Address{}};
  const Address owner = address_of(::getpid(), ledger_.number());
  ASSERT_TRUE(stranger.valid());
  mine_.ask(handle(1, 4096), &why_);
  Ask ask;
  Address reader, from;
  ASSERT_TRUE(outbox_.next(&ask, &reader));
  const int before = open_descriptors();
  const int gift = ledger_.descriptor();
  Ask wrong;
  wrong.ledger = ledger_.number() + 1;
  EXPECT_EQ(stranger.send(owner, &wrong, sizeof wrong, &gift, 1), 0);
  wrong.ledger = ledger_.number();
  wrong.magic = 1;
  EXPECT_EQ(stranger.send(owner, &wrong, sizeof wrong, &gift, 1), 0);
  EXPECT_EQ(stranger.send(owner, "x", 1, &gift, 1), 0);
  EXPECT_FALSE(outbox_.next(&ask, &from));
  Parcel parcel;
  parcel.ledger = ledger_.number();
  parcel.count = 2;
  EXPECT_EQ(stranger.send(reader, &parcel, sizeof parcel, &gift, 1), 0);
  parcel.count = 1;
  EXPECT_EQ(stranger.send(reader, &parcel, sizeof parcel - 8, &gift, 1), 0);
  const std::vector<char> long_one(2 * sizeof parcel);
  EXPECT_EQ(stranger.send(reader, long_one.data(), long_one.size(), &gift, 1), 0);
  EXPECT_FALSE(mine_.take(wanted(0, 0), &why_).valid());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Descriptors, AreTakenFromAProcessThatAllowsIt) {
  const Fd memory = make_memfd("memory", 4096);
  Descriptors mine{descriptor_ways(DescriptorWay::kPidfd)};
  std::string why;
  const Fd taken = mine.take({{1, ::getpid(), true}, memory.get(), 0, 0, 0}, &why);
  EXPECT_EQ(inode_of(taken.get()), inode_of(memory.get())) << why;
  EXPECT_FALSE(mine.take({{1, ::getpid(), false}, memory.get(), 0, 0, 0}, &why).valid())
      << "another process has the number here";
  EXPECT_FALSE(mine.take({{1, ::getpid(), true}, 1 << 20, 0, 0, 0}, &why).valid());
  EXPECT_NE(why.find("taking descriptor"), std::string::npos);
  EXPECT_FALSE(mine.missed()) << "no process was asked";
}

}  // namespace
}  // namespace tern::btl::cuda_ipc
