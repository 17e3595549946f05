// SPDX-License-Identifier: Apache-2.0
// All channels share one opening of a handle.
#include "btl/cuda_ipc/opened.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/btl/context_driver.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr uint64_t kOwners = 0x7000'0000'0000, kFar = 2 << 20;
constexpr CUdeviceptr kHere = 0x1000'0000'0000;

struct Counts {
  std::atomic<int> open{0}, opened{0};
  std::atomic<CUdeviceptr> next{kHere};
  bool counts_aliases = true;
  std::atomic<bool> holds{false}, in_close{false};
} counts;

cuda::Driver counting_driver() {
  cuda::Driver driver = context_driver();
  driver.cuIpcOpenMemHandle_v2 = [](CUdeviceptr* at, CUipcMemHandle, unsigned) {
    if (counts.open == 0 || counts.counts_aliases) ++counts.open;
    ++counts.opened;
    return *at = counts.next, CUDA_SUCCESS;
  };
  driver.cuIpcCloseMemHandle = [](CUdeviceptr) {
    if (counts.open == 0) return CUDA_ERROR_INVALID_VALUE;
    --counts.open;  // the driver may reuse the addresses now
    counts.in_close = true;
    while (counts.holds) std::this_thread::yield();
    return counts.in_close = false, CUDA_SUCCESS;
  };
  return driver;
}

class OpenedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    counts.open = counts.opened = 0;
    counts.next = kHere;
    counts.counts_aliases = true;
  }
  void TearDown() override { EXPECT_EQ(counts.open, 0); }
  static MemoryHandle handle(uint64_t base, uint64_t id, uint64_t process = 5) {
    MemoryHandle made{};
    made.form = MemoryHandle::HandleForm::kLegacy;
    made.process = process;
    made.base = made.address = base;
    made.bytes = 4096;
    made.buffer_id = id;
    return made;
  }
  CUdeviceptr open(const MemoryHandle& of) { return opened_.open(of, device_, &failure_); }
  bool close(const MemoryHandle& of, CUdeviceptr here) {
    return opened_.close(device_, of.base, of.buffer_id, here);
  }

  const cuda::Driver driver_ = counting_driver();
  cuda::Device device_{driver_, nullptr, 0, ""};
  Opened opened_;
  Failure failure_;
};

TEST_F(OpenedTest, TwoChannelsShareOneOpening) {
  const MemoryHandle one = handle(kOwners, 1);
  EXPECT_EQ(open(one), kHere);
  EXPECT_EQ(open(one), kHere);
  EXPECT_EQ(counts.opened, 1);
  EXPECT_TRUE(close(one, kHere));
  EXPECT_EQ(counts.open, 1);
  EXPECT_TRUE(close(one, kHere));
  EXPECT_FALSE(close(one, kHere)) << "closed already";
}

TEST_F(OpenedTest, TheAddressOfAnotherAllocationIsRefused) {
  const MemoryHandle one = handle(kOwners, 1), other = handle(kOwners + 4096, 2);
  ASSERT_EQ(open(one), kHere);
  EXPECT_EQ(open(other), CUdeviceptr{0});
  EXPECT_EQ(failure_.why, "the driver returned the address of another allocation");
  EXPECT_FALSE(failure_.unreachable) << "a later opening may give the right address";
  EXPECT_EQ(open(other), CUdeviceptr{0});
  EXPECT_EQ(counts.open, 3) << "a close could close the first opening";
  EXPECT_TRUE(close(one, kHere));
  EXPECT_EQ(counts.open, 0) << "as many closes as openings";
  EXPECT_EQ(open(other), kHere);
  EXPECT_TRUE(close(other, kHere));
}

TEST_F(OpenedTest, ADriverThatCountsNoAliasRefusesToCloseThem) {
  counts.counts_aliases = false;
  const MemoryHandle one = handle(kOwners, 1), other = handle(kOwners + 4096, 2);
  ASSERT_EQ(open(one), kHere);
  EXPECT_EQ(open(other), CUdeviceptr{0});
  EXPECT_TRUE(close(one, kHere));
  EXPECT_EQ(counts.open, 0);
}

TEST_F(OpenedTest, TheAddressOfMemoryThatIsClosingMayBeAnothersByNow) {
  const MemoryHandle one = handle(kOwners, 1), far = handle(kOwners + kFar, 2);
  ASSERT_EQ(open(one), kHere);
  counts.holds = true;
  std::thread closer([&] { EXPECT_TRUE(close(one, kHere)); });
  while (!counts.in_close) std::this_thread::yield();
  EXPECT_EQ(open(far), kHere) << "in another block of the driver";
  const MemoryHandle near = handle(kOwners + 8192, 3);
  EXPECT_EQ(open(near), CUdeviceptr{0}) << "the address may belong to the closing memory";
  counts.holds = false;
  closer.join();
  EXPECT_TRUE(close(far, kHere));
  counts.open = 0;
}

TEST_F(OpenedTest, WaitsForAClosingOfTheSameBlock) {
  const MemoryHandle one = handle(kOwners, 1), near = handle(kOwners + 8192, 3);
  ASSERT_EQ(open(one), kHere);
  counts.holds = true;
  std::thread closer([&] { EXPECT_TRUE(close(one, kHere)); });
  while (!counts.in_close) std::this_thread::yield();
  std::thread waker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    counts.holds = false;
  });
  EXPECT_EQ(open(near), kHere);
  closer.join();
  waker.join();
  EXPECT_TRUE(close(near, kHere));
}

TEST_F(OpenedTest, MemoryOfAnotherIdOrProcessIsOpenedForItself) {
  const MemoryHandle one = handle(kOwners, 1), again = handle(kOwners, 2),
                     others = handle(kOwners, 1, 6);
  ASSERT_EQ(open(one), kHere);
  EXPECT_EQ(open(again), kHere) << "reallocated in an open block";
  counts.next = kHere + kFar;
  EXPECT_EQ(open(others), kHere + kFar);
  EXPECT_EQ(counts.opened, 3);
  EXPECT_TRUE(close(one, kHere));
  EXPECT_TRUE(close(again, kHere));
  EXPECT_TRUE(close(others, kHere + kFar));
}

}  // namespace
}  // namespace tern::btl::cuda_ipc
