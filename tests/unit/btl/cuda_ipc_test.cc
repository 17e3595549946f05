// SPDX-License-Identifier: Apache-2.0
// The cache of mappings under a fake driver, and handles of a hostile peer.
#include "btl/cuda_ipc/cuda_ipc.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/process_id.hpp"
#include "tests/unit/btl/context_driver.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr uint64_t kPiece = 2 << 20, kBase = 0x7000'0000'0000;

struct Fake {
  int imports = 0, handles = 0, mapped = 0, reserved = 0, legacy = 0;
  CUdeviceptr next = 0x1000'0000'0000;
  int openings = 0;
  bool busy = false;
  bool refuses = false;
} fake;

cuda::Driver fake_driver() {
  cuda::Driver driver = context_driver();
  driver.cuStreamQuery = [](CUstream) { return fake.busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; };
  driver.cuIpcOpenMemHandle_v2 = [](CUdeviceptr* at, CUipcMemHandle, unsigned) {
    ++fake.openings;
    if (fake.refuses) return CUDA_ERROR_INVALID_VALUE;
    ++fake.legacy;
    return *at = fake.next += 1 << 30, CUDA_SUCCESS;
  };
  driver.cuIpcCloseMemHandle = [](CUdeviceptr) { return --fake.legacy, CUDA_SUCCESS; };
  driver.cuMemCreate = [](CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                          unsigned long long) { return CUDA_ERROR_UNKNOWN; };
  driver.cuMemGetAllocationGranularity = [](size_t*, const CUmemAllocationProp*,
                                            CUmemAllocationGranularity_flags) {
    return CUDA_ERROR_UNKNOWN;
  };
  driver.cuMemRelease = [](CUmemGenericAllocationHandle) { return --fake.handles, CUDA_SUCCESS; };
  driver.cuMemAddressReserve = [](CUdeviceptr* at, size_t bytes, size_t, CUdeviceptr,
                                  unsigned long long) {
    if (bytes > uint64_t{1} << 47) return CUDA_ERROR_OUT_OF_MEMORY;
    ++fake.reserved;
    *at = fake.next += uint64_t{1} << 48;
    return CUDA_SUCCESS;
  };
  driver.cuMemAddressFree = [](CUdeviceptr, size_t) { return --fake.reserved, CUDA_SUCCESS; };
  driver.cuMemMap = [](CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                       unsigned long long) { return ++fake.mapped, CUDA_SUCCESS; };
  driver.cuMemUnmap = [](CUdeviceptr, size_t) { return --fake.mapped, CUDA_SUCCESS; };
  driver.cuMemSetAccess = [](CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
    return CUDA_SUCCESS;
  };
  driver.cuMemImportFromShareableHandle = [](CUmemGenericAllocationHandle* handle, void*,
                                             CUmemAllocationHandleType) {
    ++fake.imports;
    ++fake.handles;
    return *handle = 1, CUDA_SUCCESS;
  };
  return driver;
}

class CudaIpcTest : public ::testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  void TearDown() override {
    ipc_.reset();
    EXPECT_EQ(fake.mapped, 0);
    EXPECT_EQ(fake.handles, 0);
    EXPECT_EQ(fake.reserved, 0);
    EXPECT_EQ(fake.legacy, 0);
  }
  uint32_t piece(int place, uint64_t id, uint32_t forms = Row::kDescriptor) {
    Row row{};
    row.buffer_id = id;
    row.base = kBase + static_cast<uint64_t>(place) * kPiece;
    row.bytes = kPiece;
    row.forms = forms;
    row.descriptor = ledger_.descriptor();
    return ledger_.add(row);
  }
  std::vector<uint32_t> pieces(int count) {
    std::vector<uint32_t> rows;
    for (int i = 0; i < count; ++i) rows.push_back(piece(i, 100 + static_cast<uint64_t>(i)));
    chain(rows);
    return rows;
  }
  void chain(const std::vector<uint32_t>& rows) {
    for (size_t i = 1; i < rows.size(); ++i) ledger_.chain(rows[i - 1], rows[i]);
  }
  MemoryHandle handle(uint32_t row, int first, int count, uint64_t id) {
    MemoryHandle made{};
    made.form = MemoryHandle::HandleForm::kListed;
    made.pid = ::getpid();
    made.process = 5;
    made.domain = number_domain();
    made.buffer_id = id;
    made.base = kBase + static_cast<uint64_t>(first) * kPiece;
    made.bytes = static_cast<uint64_t>(count) * kPiece;
    made.address = made.base + 100;
    made.listed = {ledger_.number(), ledger_.descriptor(), row};
    return made;
  }
  MemoryHandle legacy(uint64_t base, uint64_t bytes, uint64_t id) {
    MemoryHandle made{};
    made.form = MemoryHandle::HandleForm::kLegacy;
    made.pid = 7;
    made.process = 7;
    made.domain = number_domain();
    made.buffer_id = id;
    made.base = made.address = base;
    made.bytes = bytes;
    return made;
  }
  void refuse(const MemoryHandle& of) {
    EXPECT_EQ(ipc_->map(of, device_), nullptr);
    EXPECT_NE(ipc_->why_not(), "");
  }

  const cuda::Driver driver_ = fake_driver();
  cuda::Device device_{driver_, nullptr, 0, ""};
  Ledger ledger_;
  std::unique_ptr<CudaIpc> ipc_ =
      std::make_unique<CudaIpc>(8 * kPiece, DescriptorWays{true, false});
};

TEST_F(CudaIpcTest, OnlyWhatIsNewIsMapped) {
  auto rows = pieces(4);
  const auto two = ipc_->map(handle(rows[0], 0, 2, 100), device_);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(fake.imports, 2);
  const auto four = ipc_->map(handle(rows[0], 0, 4, 100), device_);
  EXPECT_EQ(fake.imports, 4);
  EXPECT_EQ(four->address, two->address);
  const auto last = ipc_->map(handle(rows[3], 3, 1, 103), device_);
  EXPECT_EQ(fake.imports, 4);
  EXPECT_EQ(last->address, two->address + 3 * kPiece);
}

TEST_F(CudaIpcTest, AReplacedPieceIsMappedAnew) {
  auto rows = pieces(3);
  auto old = ipc_->map(handle(rows[0], 0, 3, 100), device_);
  old.reset();
  ledger_.clear(rows[1]);
  rows[1] = piece(1, 200);
  chain(rows);
  EXPECT_NE(ipc_->map(handle(rows[0], 0, 3, 100), device_), nullptr);
  EXPECT_EQ(fake.imports, 4);
  EXPECT_EQ(fake.mapped, 3);
}

// Unmapping would wait for all work of the device.
TEST_F(CudaIpcTest, NothingIsUnmappedWhileTheDeviceIsBusy) {
  auto rows = pieces(3);
  const std::byte* const before = ipc_->map(handle(rows[0], 0, 3, 100), device_)->address;
  (void)ipc_->map(legacy(kBase + 100 * kPiece, kPiece, 1), device_);
  fake.busy = true;
  ledger_.clear(rows[1]);
  rows[1] = piece(1, 200);
  chain(rows);
  const auto again = ipc_->map(handle(rows[0], 0, 3, 100), device_);
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->address, before) << "the old place is taken";
  (void)ipc_->map(legacy(kBase + 100 * kPiece, kPiece, 2), device_);
  EXPECT_EQ(fake.mapped, 6);
  EXPECT_EQ(fake.reserved, 2);
  EXPECT_EQ(fake.legacy, 2);
  fake.busy = false;
  (void)ipc_->map(handle(rows[0], 0, 3, 100), device_);
  EXPECT_EQ(fake.mapped, 3);
  EXPECT_EQ(fake.reserved, 1);
  EXPECT_EQ(fake.legacy, 1);
}

TEST_F(CudaIpcTest, ButWhereRoomIsNeeded) {
  fake.busy = true;
  for (uint64_t i = 0; i < 40; ++i)
    EXPECT_NE(ipc_->map(legacy(kBase, kPiece, i + 1), device_), nullptr);
  EXPECT_LE(fake.legacy, 8);
}

TEST_F(CudaIpcTest, TheCacheIsBoundedAndWhatIsInUseStays) {
  const auto used = ipc_->map(legacy(kBase, kPiece, 1), device_);
  for (uint64_t i = 1; i < 40; ++i)
    EXPECT_NE(ipc_->map(legacy(kBase + i * kPiece, kPiece, i + 1), device_), nullptr);
  EXPECT_EQ(fake.legacy, 8);
  const auto again = ipc_->map(legacy(kBase, kPiece, 1), device_);
  EXPECT_EQ(again->address, used->address);
  const auto rows = pieces(8);
  EXPECT_NE(ipc_->map(handle(rows[0], 0, 8, 100), device_), nullptr);
  EXPECT_EQ(fake.legacy, 1);
}

TEST_F(CudaIpcTest, OtherMemoryAtTheSameAddress) {
  auto first = ipc_->map(legacy(kBase, kPiece, 1), device_);
  const auto second = ipc_->map(legacy(kBase + 4096, 4096, 2), device_);
  EXPECT_NE(first->address, second->address);
  EXPECT_EQ(fake.legacy, 2) << "the first is in use";
  first.reset();
  (void)ipc_->map(legacy(kBase + 4096, 4096, 2), device_);
  EXPECT_EQ(fake.legacy, 1);
}

// Every container has a process with number 1.
TEST_F(CudaIpcTest, ProcessesWithTheSameNumberAreTwo) {
  MemoryHandle other = legacy(kBase, kPiece, 1);
  other.process = 8;
  const std::byte* const first = ipc_->map(legacy(kBase, kPiece, 1), device_)->address;
  EXPECT_NE(ipc_->map(other, device_)->address, first);
  EXPECT_EQ(ipc_->map(legacy(kBase, kPiece, 1), device_)->address, first);
  EXPECT_EQ(fake.openings, 2);
}

TEST_F(CudaIpcTest, AmongPidNamespacesTheDriverIsAskedOnce) {
  MemoryHandle theirs = legacy(kBase, kPiece, 1);
  theirs.domain += 1;
  EXPECT_NE(ipc_->map(theirs, device_), nullptr);
  fake.refuses = true;
  theirs.process = 8;
  refuse(theirs);
  refuse(theirs);
  EXPECT_EQ(fake.openings, 2);
  refuse(legacy(kBase + kPiece, kPiece, 2));
  fake.refuses = false;
  EXPECT_NE(ipc_->map(legacy(kBase + kPiece, kPiece, 2), device_), nullptr) << "of this namespace";
}

TEST_F(CudaIpcTest, DescriptorsAreNotTakenByNumbersOfAnotherNamespace) {
  const auto rows = pieces(1);
  MemoryHandle theirs = handle(rows[0], 0, 1, 100);
  theirs.domain += 1;
  refuse(theirs);
  theirs.domain = number_domain();
  EXPECT_NE(ipc_->map(theirs, device_), nullptr);
}

TEST_F(CudaIpcTest, WhatItsOwnerWithdrawsIsLetGo) {
  const auto rows = pieces(3);
  (void)ipc_->map(handle(rows[0], 0, 3, 100), device_);
  EXPECT_EQ(fake.mapped, 3);
  for (const uint32_t row : rows) ledger_.clear(row);
  for (int i = 0; i < 5; ++i) (void)ipc_->map(legacy(kBase + 100 * kPiece, 4096, 9), device_);
  EXPECT_EQ(fake.mapped, 0);
  EXPECT_EQ(fake.reserved, 0);
}

TEST_F(CudaIpcTest, WhatItsOwnerWithdrawsIsLetGoWithoutFurtherMessages) {
  Row row{};
  row.buffer_id = 1;
  row.base = kBase + 100 * kPiece;
  row.bytes = kPiece;
  row.forms = Row::kLegacy;
  const uint32_t place = ledger_.add(row);
  MemoryHandle theirs = legacy(row.base, row.bytes, 1);
  theirs.pid = ::getpid();
  theirs.listed = {ledger_.number(), ledger_.descriptor(), place};
  const auto rows = pieces(3);
  (void)ipc_->map(theirs, device_);
  auto used = ipc_->map(handle(rows[0], 0, 3, 100), device_);
  ipc_->look_after();
  EXPECT_EQ(fake.legacy, 1);
  ledger_.clear(place);
  for (const uint32_t one : rows) ledger_.clear(one);
  ipc_->look_after();
  EXPECT_EQ(fake.legacy, 0);
  EXPECT_EQ(fake.mapped, 3) << "the mappings are in use";
  used.reset();
  ipc_->look_after();
  EXPECT_EQ(fake.mapped, 0);
}

// The peer's container shares neither PID nor network namespace.
TEST_F(CudaIpcTest, AFabricHandleServesWithoutTheLedger) {
  MemoryHandle theirs = handle(piece(0, 100, Row::kFabric), 0, 1, 100);
  theirs.domain += 1;
  refuse(theirs);
  theirs.form = MemoryHandle::HandleForm::kFabric;
  const auto mapped = ipc_->map(theirs, device_);
  ASSERT_NE(mapped, nullptr) << ipc_->why_not();
  EXPECT_EQ(fake.imports, 1);
  EXPECT_EQ(ipc_->map(theirs, device_)->address, mapped->address);
  EXPECT_EQ(fake.imports, 1);
}

// Another file may have the descriptor's number by now.
TEST_F(CudaIpcTest, AClosedDescriptorIsNotTaken) {
  const auto rows = pieces(1);
  ledger_.set_descriptor(rows[0], -1);
  refuse(handle(rows[0], 0, 1, 100));
  ledger_.set_descriptor(rows[0], ledger_.descriptor());
  EXPECT_NE(ipc_->map(handle(rows[0], 0, 1, 100), device_), nullptr);
}

TEST_F(CudaIpcTest, WrongHandlesAreRefused) {
  const auto rows = pieces(3);
  const MemoryHandle right = handle(rows[0], 0, 3, 100);
  MemoryHandle wrong = right;
  refuse(MemoryHandle{});
  refuse((wrong = right, wrong.address = wrong.base - 1, wrong));
  refuse((wrong = right, wrong.address = wrong.base + wrong.bytes, wrong));
  refuse((wrong = right, wrong.bytes = ~uint64_t{0}, wrong));
  refuse((wrong = right, wrong.bytes = uint64_t{1} << 47, wrong));
  refuse((wrong = right, wrong.bytes = 3 * kPiece + 1, wrong));
  refuse((wrong = right, wrong.base += 4096, wrong));
  refuse((wrong = right, wrong.buffer_id = 5, wrong));
  refuse((wrong = right, wrong.pid = -1, wrong));
  refuse((wrong = right, wrong.pid = 0, wrong));
  refuse(handle(0, 0, 3, 100));
  refuse(handle(~0u, 0, 3, 100));
  refuse(handle(piece(9, 300, 0), 9, 1, 300));
  refuse(handle(piece(9, 301, Row::kPool), 9, 1, 301));
  refuse(handle(piece(9, 302, Row::kPointer), 9, 1, 302));
  refuse(handle(piece(9, 303, 0xffff'fff0), 9, 1, 303));  // a later version
  EXPECT_EQ(fake.mapped, 0);
  EXPECT_NE(ipc_->map(right, device_), nullptr) << ipc_->why_not();
}

TEST_F(CudaIpcTest, WrongLedgersAreErrors) {
  MemoryHandle wrong = handle(1, 0, 1, 100);
  wrong.listed = {ledger_.number() + 1, ledger_.descriptor(), 1};
  EXPECT_ANY_THROW((void)ipc_->map(wrong, device_));
  wrong.listed.descriptor = 0;
  EXPECT_ANY_THROW((void)ipc_->map(wrong, device_));
  wrong.listed.descriptor = 1 << 20;
  refuse(wrong);
}

}  // namespace
}  // namespace tern::btl::cuda_ipc
