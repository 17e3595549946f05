// SPDX-License-Identifier: Apache-2.0
// BlockStore, under a fake driver that counts allocations.
#include "cuda/blocks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace tern::cuda {
namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Fake {
  std::map<CUdeviceptr, size_t> held;
  int refuses = 0;  // so many allocations
} fake;

Driver fake_driver() {
  Driver driver;
  driver.cuCtxGetId = [](CUcontext, unsigned long long* id) { return *id = 1, CUDA_SUCCESS; };
  driver.cuStreamQuery = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuMemAlloc_v2 = [](CUdeviceptr* at, size_t bytes) {
    if (fake.refuses-- > 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *at = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    fake.held[*at] = bytes;
    return CUDA_SUCCESS;
  };
  driver.cuMemFree_v2 = [](CUdeviceptr at) {
    std::free(reinterpret_cast<void*>(at));
    return fake.held.erase(at) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  return driver;
}

struct Context : DeviceContext {
  explicit Context(const Driver& of) : DeviceContext(of, nullptr) {}
};

class BlockStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  void TearDown() override {
    store_.destroy();
    EXPECT_TRUE(fake.held.empty());
  }
  std::byte* acquire(size_t bytes, size_t* lent) {
    CUresult error = CUDA_SUCCESS;
    *lent = bytes;
    return store_.acquire(Store::kDevice, lent, &error);
  }
  const Driver driver_ = fake_driver();
  const Context context_{driver_};
  BlockStore store_{context_};
};

TEST_F(BlockStoreTest, SmallBlocksAreDisjointPartsOfOneAllocation) {
  std::map<std::byte*, size_t> lent;
  for (const size_t bytes : {kKiB, 64 * kKiB, 200 * kKiB, 512 * kKiB, 128 * kKiB, kMiB / 2 + 1}) {
    size_t got = 0;
    std::byte* const block = acquire(bytes, &got);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(got, bytes);
    EXPECT_TRUE(lent.emplace(block, got).second);
  }
  ASSERT_EQ(fake.held.size(), 1U);
  const auto [slab, whole] = *fake.held.begin();
  EXPECT_EQ(whole, 2 * kMiB);
  auto* end = reinterpret_cast<std::byte*>(slab);
  for (const auto& [block, bytes] : lent) {
    EXPECT_GE(block, end);
    end = block + bytes;
  }
  EXPECT_LE(end, reinterpret_cast<std::byte*>(slab) + whole);
  for (const auto& [block, bytes] : lent) store_.release(Store::kDevice, block, bytes);
}

TEST_F(BlockStoreTest, EqualSmallBlocksFillAnAllocation) {
  std::map<std::byte*, size_t> lent;
  for (int i = 0; i < 32; ++i) {
    size_t got = 0;
    std::byte* const block = acquire(64 * kKiB, &got);
    ASSERT_NE(block, nullptr);
    EXPECT_LE(got, 128 * kKiB);
    EXPECT_TRUE(lent.emplace(block, got).second);
  }
  EXPECT_LE(fake.held.size(), 2U);
  std::byte* end = nullptr;
  for (const auto& [block, bytes] : lent) {
    EXPECT_GE(block, end);
    end = block + bytes;
  }
  for (const auto& [block, bytes] : lent) store_.release(Store::kDevice, block, bytes);
}

TEST_F(BlockStoreTest, OutOfMemoryFreesIdleAllocationsButNoPartOfOne) {
  size_t small = 0, large = 0, more = 0;
  std::byte* const part = acquire(64 * kKiB, &small);
  std::byte* const whole = acquire(4 * kMiB, &large);
  ASSERT_TRUE(part != nullptr && whole != nullptr);
  store_.release(Store::kDevice, part, small);
  store_.release(Store::kDevice, whole, large);
  ASSERT_EQ(fake.held.size(), 2U);
  fake.refuses = 1;
  std::byte* const third = acquire(16 * kMiB, &more);
  ASSERT_NE(third, nullptr);
  EXPECT_FALSE(fake.held.contains(reinterpret_cast<CUdeviceptr>(whole)));
  EXPECT_EQ(fake.held.size(), 2U);
  std::byte* const again = acquire(64 * kKiB, &small);
  EXPECT_EQ(fake.held.size(), 2U) << "lent from the first allocation";
  store_.release(Store::kDevice, again, small);
  store_.release(Store::kDevice, third, more);
}

TEST_F(BlockStoreTest, ALimitCountsWholeAllocations) {
  size_t got = 0;
  EXPECT_FALSE(store_.affords(Store::kDevice, 64 * kKiB, 64 * kKiB));
  EXPECT_TRUE(store_.affords(Store::kDevice, 64 * kKiB, 2 * kMiB));
  std::byte* const block = acquire(64 * kKiB, &got);
  EXPECT_FALSE(store_.affords(Store::kDevice, 4 * kMiB, 5 * kMiB));
  EXPECT_TRUE(store_.affords(Store::kDevice, kMiB, 2 * kMiB)) << "the rest of the allocation";
  store_.release(Store::kDevice, block, got);
}

}  // namespace
}  // namespace tern::cuda
