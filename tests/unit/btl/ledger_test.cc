// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/ledger.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr uint64_t kLedgerPiece = 2 << 20, kLedgerBase = 0x7000'0000'0000;

class LedgerTest : public ::testing::Test {
 protected:
  Row row(uint64_t id, uint64_t base, uint64_t bytes) {
    Row made{};
    made.buffer_id = id;
    made.base = base;
    made.bytes = bytes;
    made.forms = Row::kDescriptor;
    return made;
  }
  std::vector<uint32_t> pieces(int count) {
    std::vector<uint32_t> rows;
    for (int i = 0; i < count; ++i)
      rows.push_back(
          mine_.add(row(100 + static_cast<uint64_t>(i),
                        kLedgerBase + static_cast<uint64_t>(i) * kLedgerPiece, kLedgerPiece)));
    for (size_t i = 1; i < rows.size(); ++i) mine_.chain(rows[i - 1], rows[i]);
    return rows;
  }
  MemoryHandle handle(uint32_t first, uint64_t bytes) {
    MemoryHandle made{};
    made.form = MemoryHandle::HandleForm::kListed;
    made.base = made.address = kLedgerBase;
    made.bytes = bytes;
    made.listed = {mine_.number(), mine_.descriptor(), first};
    return made;
  }
  bool reads(const MemoryHandle& of) { return read_chain(theirs_, of, &found_, &why_); }

  Ledger mine_;
  PeerLedger theirs_{Fd(::dup(mine_.descriptor())), mine_.number()};
  std::vector<ChainPiece> found_;
  std::string why_;
};

TEST_F(LedgerTest, AChainIsReadAsFarAsTheHandleGoes) {
  const auto rows = pieces(300);
  ASSERT_TRUE(reads(handle(rows[0], 300 * kLedgerPiece)));
  ASSERT_EQ(found_.size(), 300u);
  EXPECT_EQ(found_[299].row.base, kLedgerBase + 299 * kLedgerPiece);
  ASSERT_TRUE(reads(handle(rows[0], 2 * kLedgerPiece)));
  EXPECT_EQ(found_.size(), 2u);
}

TEST_F(LedgerTest, WhatWasWithdrawnIsNotFoundAndItsStampNeverComesBack) {
  const auto rows = pieces(3);
  const uint64_t stamp = theirs_.read(rows[1]).stamp;
  mine_.clear(rows[1]);
  EXPECT_FALSE(theirs_.is(rows[1], stamp));
  EXPECT_FALSE(reads(handle(rows[0], 3 * kLedgerPiece)));
  EXPECT_NE(why_.find("does not name"), std::string::npos);
  EXPECT_EQ(mine_.add(row(7, kLedgerBase + kLedgerPiece, kLedgerPiece)), rows[1]);
  EXPECT_FALSE(theirs_.is(rows[1], stamp));
}

TEST_F(LedgerTest, RowsEnd) {
  for (uint32_t i = 1; i < LedgerFile::kRows; ++i)
    ASSERT_NE(mine_.add(row(i, kLedgerBase, kLedgerPiece)), 0u);
  EXPECT_EQ(mine_.add(row(1, kLedgerBase, kLedgerPiece)), 0u);
  mine_.clear(5);
  EXPECT_EQ(mine_.add(row(1, kLedgerBase, kLedgerPiece)), 5u);
}

TEST_F(LedgerTest, WrongChainsAreRefused) {
  const auto rows = pieces(3);
  const MemoryHandle whole = handle(rows[0], 3 * kLedgerPiece);
  EXPECT_FALSE(reads(handle(0, kLedgerPiece)));
  EXPECT_FALSE(reads(handle(LedgerFile::kRows, kLedgerPiece)));
  EXPECT_FALSE(reads(handle(~0u, kLedgerPiece)));
  EXPECT_FALSE(reads(handle(rows[0], 3 * kLedgerPiece - 1))) << "rows reach beyond the handle";
  EXPECT_FALSE(reads(handle(rows[0], 4 * kLedgerPiece))) << "the chain ends before";
  mine_.chain(rows[1], rows[0]);
  EXPECT_FALSE(reads(whole)) << "a ring";
  mine_.chain(rows[1], 0xffffff);
  EXPECT_FALSE(reads(whole)) << "beyond the table";
  const uint32_t empty = mine_.add(row(9, kLedgerBase + 2 * kLedgerPiece, 0));
  mine_.chain(rows[1], empty);
  mine_.chain(empty, empty);
  EXPECT_FALSE(reads(whole)) << "no bytes, for ever";
  const uint32_t huge = mine_.add(row(9, kLedgerBase + 2 * kLedgerPiece, ~uint64_t{0} - 5));
  mine_.chain(rows[1], huge);
  EXPECT_FALSE(reads(whole));
}

TEST_F(LedgerTest, WrongFilesAreRefused) {
  EXPECT_THROW(PeerLedger(Fd(::dup(mine_.descriptor())), mine_.number() + 1), Error);
  EXPECT_THROW(PeerLedger(Fd(), 1), Error);
  EXPECT_THROW(PeerLedger(make_memfd("short", 4096), 1), Error);
  EXPECT_THROW(PeerLedger(make_memfd("zeros", sizeof(LedgerFile)), 0), Error);
  Fd shrinks(::memfd_create("shrinks", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(shrinks.get(), sizeof(LedgerFile)), 0);
  EXPECT_THROW(PeerLedger(shrinks, 0), Error);
}

TEST(MemoryHandle, ABlockBeginsWithinItsMemory) {
  MemoryHandle handle{};
  EXPECT_FALSE(is_sound(handle));
  handle.base = handle.address = 4096;
  handle.bytes = 4096;
  EXPECT_TRUE(is_sound(handle));
  handle.address = 8192;
  EXPECT_FALSE(is_sound(handle));
  handle.address = 4095;
  EXPECT_FALSE(is_sound(handle));
  handle.address = 5000;
  handle.bytes = ~uint64_t{0};
  EXPECT_FALSE(is_sound(handle)) << "the end precedes the beginning";
}

}  // namespace
}  // namespace tern::btl::cuda_ipc
