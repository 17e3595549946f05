// SPDX-License-Identifier: Apache-2.0
// DeviceCache on the software driver, with a library of the test.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "btl/net/device_cache.hpp"
#include "cuda/exportable.hpp"
#include "cuda/rdma_memory.hpp"
#include "mpi.h"
#include "tests/softcuda/control.h"
#include "tests/unit/cuda/software_driver.hpp"

namespace tern::btl::net {
namespace {

constexpr size_t kBytes = 4 << 20;

/// Counts the open regions; refuses while `most` are open.
struct FakeLibrary {
  size_t open = 0, opened = 0, asked = 0, most = SIZE_MAX;
  cuda::Memory last;
};

class FakeRegion final : public MemoryRegion {
 public:
  explicit FakeRegion(FakeLibrary& library) : library_(library), number_(++library.opened) {
    ++library_.open;
  }
  FakeRegion(const FakeRegion&) = delete;
  FakeRegion& operator=(const FakeRegion&) = delete;
  ~FakeRegion() override { --library_.open; }
  std::span<const std::byte> key() const noexcept override {
    return std::as_bytes(std::span(&number_, 1));
  }

 private:
  FakeLibrary& library_;
  const size_t number_;
};

size_t number_of(const MemoryRegion& region) {
  size_t number = 0;
  std::memcpy(&number, region.key().data(), sizeof number);
  return number;
}

class DeviceCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const cuda::Driver* const found = cuda::test::find_driver();
    if (found == nullptr) GTEST_SKIP() << "no driver";
    driver_ = found;
    ASSERT_TRUE(cuda::test::use_first_device(*driver_, &device_, &context_));
    process_.registrations.devices.refusal_said = true;
  }
  std::shared_ptr<DeviceCache> cache(size_t limit = 0) {
    process_.params.net_cache = static_cast<int64_t>(limit);
    return std::make_shared<DeviceCache>(
        process_, [this](const cuda::Memory& memory) -> std::unique_ptr<MemoryRegion> {
          ++library_.asked;
          if (library_.open >= library_.most) throw Error(MPI_ERR_OTHER, "full");
          library_.last = memory;
          return std::make_unique<FakeRegion>(library_);
        });
  }
  CUdeviceptr allocate(size_t bytes = kBytes) {
    CUdeviceptr at = 0;
    EXPECT_EQ(driver_->cuMemAlloc_v2(&at, bytes), CUDA_SUCCESS);
    return at;
  }
  void free(CUdeviceptr at) { EXPECT_EQ(driver_->cuMemFree_v2(at), CUDA_SUCCESS); }
  [[nodiscard]] bool exports() const {
    int can = 0;
    (void)driver_->cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device_);
    return can != 0;
  }
  static iovec block(CUdeviceptr at, size_t bytes = 1000) {
    return {reinterpret_cast<void*>(at), bytes};
  }
  const core::Process::Registrations::Devices& counts() const {
    return process_.registrations.devices;
  }

  const cuda::Driver* driver_ = nullptr;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  core::Process process_;
  size_t refusals_ = 0;
  FakeLibrary library_;
};

TEST_F(DeviceCacheTest, ABlockLeasesItsWholeAllocation) {
  const auto all = cache();
  const CUdeviceptr at = allocate();
  {
    const auto one = all->lease(block(at + 512));
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(library_.last.base, at);
    EXPECT_EQ(library_.last.bytes, kBytes);
    const auto other = all->lease(block(at + kBytes - 1000));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(number_of(*other), number_of(*one));
  }
  EXPECT_EQ(library_.open, 1u) << "kept after use";
  EXPECT_EQ(counts().made, 1u);
  EXPECT_EQ(counts().hits, 1u);
  EXPECT_EQ(counts().bytes, kBytes);
  free(at);
}

TEST_F(DeviceCacheTest, BlocksOutsideOfAnAllocationAreRefused) {
  const auto all = cache();
  const CUdeviceptr at = allocate();
  std::vector<char> host(100);
  EXPECT_EQ(all->lease(block(at, kBytes + 1)), nullptr);
  EXPECT_EQ(all->lease({host.data(), host.size()}), nullptr);
  EXPECT_EQ(counts().refused, 2u);
  EXPECT_EQ(library_.opened, 0u);
  free(at);
}

// The driver may give the address again; the buffer id differs.
TEST_F(DeviceCacheTest, ASuccessorAtTheSameAddressGetsARegionOfItsOwn) {
  const auto all = cache();
  constexpr int kTries = 100;
  CUdeviceptr first = allocate(), next = 0;
  const size_t number = number_of(*all->lease(block(first)));
  free(first);
  std::vector<CUdeviceptr> others;
  for (int i = 0; i < kTries && next != first; ++i) {
    if (next != 0) others.push_back(next);
    next = allocate();
  }
  const auto lease = all->lease(block(next));
  EXPECT_NE(number_of(*lease), number);
  EXPECT_EQ(library_.open, 1u) << "the stale region is released";
  EXPECT_EQ(counts().evicted, 0u);
  RecordProperty("same_address", next == first ? "yes" : "no");
  for (const CUdeviceptr one : others) free(one);
  free(next);
}

TEST_F(DeviceCacheTest, FreedMemoryIsReleasedWithoutALease) {
  const auto all = cache();
  const CUdeviceptr one = allocate(), two = allocate();
  (void)all->lease(block(one));
  (void)all->lease(block(two));
  all->drop_freed();
  EXPECT_EQ(library_.open, 2u);
  free(one);
  all->drop_freed();
  EXPECT_EQ(library_.open, 1u);
  EXPECT_EQ(counts().bytes, kBytes);
  free(two);
}

TEST_F(DeviceCacheTest, TheLimitNeverEvictsEntriesInUse) {
  const auto all = cache(2 * kBytes);
  std::vector<CUdeviceptr> at;
  for (int i = 0; i < 4; ++i) at.push_back(allocate());
  std::vector<std::unique_ptr<MemoryRegion>> used;
  for (const CUdeviceptr one : at) used.push_back(all->lease(block(one)));
  EXPECT_EQ(library_.open, 4u);
  EXPECT_EQ(counts().evicted, 0u);
  used.erase(used.begin());
  EXPECT_EQ(library_.open, 3u) << "beyond the limit";
  used.clear();
  EXPECT_EQ(library_.open, 2u);
  EXPECT_EQ(counts().evicted, 2u);
  for (const CUdeviceptr one : at) free(one);
}

TEST_F(DeviceCacheTest, TheLeastRecentlyUsedGoesFirst) {
  const auto all = cache(2 * kBytes);
  const CUdeviceptr one = allocate(), two = allocate(), three = allocate();
  const size_t first = number_of(*all->lease(block(one)));
  (void)all->lease(block(two));
  (void)all->lease(block(one));
  (void)all->lease(block(three));
  EXPECT_EQ(number_of(*all->lease(block(one))), first);
  EXPECT_EQ(counts().made, 3u);
  for (const CUdeviceptr at : {one, two, three}) free(at);
}

TEST_F(DeviceCacheTest, ARefusalOfTheLibraryEvictsIdleRegions) {
  const auto all = cache();
  const CUdeviceptr one = allocate(), two = allocate(), three = allocate();
  library_.most = 2;
  const auto used = all->lease(block(one));
  (void)all->lease(block(two));
  const auto next = all->lease(block(three));
  EXPECT_NE(next, nullptr);
  EXPECT_EQ(counts().evicted, 1u);
  EXPECT_EQ(counts().refused, 0u);
  EXPECT_EQ(all->lease(block(two)), nullptr) << "all others are in use";
  EXPECT_EQ(counts().refused, 1u);
  EXPECT_EQ(counts().bytes, 2 * kBytes);
  for (const CUdeviceptr at : {one, two, three}) free(at);
}

TEST_F(DeviceCacheTest, RefusedMemoryIsAskedForAgainAfterARelease) {
  const auto all = cache();
  const CUdeviceptr one = allocate(), two = allocate();
  library_.most = 1;
  auto used = all->lease(block(one));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all->lease(block(two)), nullptr);
  EXPECT_EQ(library_.asked, 2u);
  EXPECT_EQ(counts().refused, 3u);
  used.reset();
  free(one);
  all->drop_freed();
  EXPECT_NE(all->lease(block(two)), nullptr);
  EXPECT_EQ(library_.asked, 3u);
  EXPECT_EQ(counts().bytes, kBytes);
  free(two);
}

TEST_F(DeviceCacheTest, RefusedMemoryIsAskedForAgainAfterTheEndOfALease) {
  const auto all = cache();
  const CUdeviceptr one = allocate(), two = allocate();
  library_.most = 1;
  auto used = all->lease(block(one));
  EXPECT_EQ(all->lease(block(two)), nullptr);
  used.reset();
  EXPECT_NE(all->lease(block(two)), nullptr) << "the idle region is evicted";
  EXPECT_EQ(counts().evicted, 1u);
  free(one);
  free(two);
}

TEST_F(DeviceCacheTest, MemoryThatIsAlwaysRefusedIsAskedForLessAndLess) {
  const auto all = cache();
  const CUdeviceptr good = allocate(), bad = allocate();
  for (int i = 0; i < 64; ++i) {
    library_.most = SIZE_MAX;
    all->lease(block(good)).reset();
    library_.most = 0;
    const size_t before = library_.asked;
    EXPECT_EQ(all->lease(block(bad)), nullptr);
    refusals_ += library_.asked != before;
  }
  EXPECT_LE(refusals_, 7u);
  free(good);
  free(bad);
}

TEST_F(DeviceCacheTest, ALeaseOutlivesTheTransportsPart) {
  auto all = cache();
  const CUdeviceptr at = allocate();
  auto lease = all->lease(block(at));
  all.reset();
  EXPECT_EQ(library_.open, 1u);
  lease.reset();
  EXPECT_EQ(library_.open, 0u);
  EXPECT_EQ(counts().bytes, 0u);
  free(at);
}

TEST_F(DeviceCacheTest, TheDriverExportsDmaBufs) {
  if (!exports()) GTEST_SKIP() << "no dma-buf";
  const CUdeviceptr large = allocate(), small = allocate(600), other = allocate(600);
  for (const CUdeviceptr at : {large, small, other}) {
    const auto exported = cuda::export_dma_buf(cuda::mapping_at(at));
    EXPECT_TRUE(exported.descriptor.valid());
    EXPECT_EQ(exported.offset, at % 4096);
  }
  const auto fault =
      reinterpret_cast<decltype(&softcuda_fault)>(::dlsym(RTLD_DEFAULT, "softcuda_fault"));
  if (fault != nullptr) {
    fault("cuMemGetHandleForAddressRange:1:801");
    EXPECT_FALSE(cuda::export_dma_buf(cuda::mapping_at(large)).descriptor.valid());
    fault("");
  }
  for (const CUdeviceptr at : {large, small, other}) free(at);
}

// The software driver exports memory of cuMemCreate only with gpuDirectRDMACapable.
TEST_F(DeviceCacheTest, AdaptersReachMemoryOfMpiAllocMem) {
  if (!exports()) GTEST_SKIP() << "no dma-buf";
  cuda::Exportable made;
  const char* function = "";
  ASSERT_EQ(cuda::allocate_exportable(*driver_, kBytes, 0, &made, &function), CUDA_SUCCESS)
      << function;
  EXPECT_TRUE(made.mapped);
  const cuda::Memory memory = cuda::mapping_at(made.address);
  EXPECT_EQ(memory.base, made.address);
  EXPECT_TRUE(cuda::export_dma_buf(memory).descriptor.valid());
  EXPECT_EQ(cuda::free_exportable(*driver_, made), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tern::btl::net
