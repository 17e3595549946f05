// SPDX-License-Identifier: Apache-2.0
// The memory type of an address: heap, stacks and static data by comparison, all else by the
// driver.
#include "cuda/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <memory>
#include <thread>

#include "tests/unit/cuda/software_driver.hpp"

namespace tern::cuda::test {
namespace {

constexpr size_t kBytes = 64 << 10;
int initialised = 1, zero[1000];
thread_local int of_thread = 1;

bool compared(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return detail::host_ranges.heap.has(at) || detail::host_ranges.program.has(at) ||
         at - detail::stack_range.low < detail::stack_range.bytes;
}

struct Mapping {
  explicit Mapping(void* at = nullptr)
      : address(::mmap(at, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED_NOREPLACE : 0), -1,
                       0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { give_back(); }
  void give_back() {
    if (address == MAP_FAILED) return;
    EXPECT_EQ(::munmap(address, kBytes), 0);
    address = MAP_FAILED;
  }
  void* address;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHeapByBrk = false;
#else
constexpr bool kHeapByBrk = true;
#endif

TEST(MemoryKinds, HeapStackAndStaticDataAreKnownByComparing) {
  const auto block = std::make_unique<std::array<char, 100>>();
  int local = 0;
  const std::initializer_list<const void*> known = {block.get(), &local, &initialised, &zero[999]};
  for (const void* address : known) EXPECT_EQ(kind_of(address), MemoryKind::kHost);
  EXPECT_EQ(compared(block.get()), kHeapByBrk);
  EXPECT_TRUE(compared(&initialised));
  EXPECT_TRUE(compared(&zero[999]));
#if !defined(__SANITIZE_ADDRESS__)  // ASan may place locals elsewhere
  EXPECT_TRUE(compared(&local));
#endif
}

TEST(MemoryKinds, TheHeapGrows) {
  if (!kHeapByBrk) GTEST_SKIP() << "the heap is the sanitizer's";
  std::vector<std::unique_ptr<std::array<char, 100000>>> blocks;  // below malloc's mmap threshold
  const auto first = detail::host_ranges.heap.bytes.load();
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(std::make_unique<std::array<char, 100000>>());
    ASSERT_EQ(kind_of(blocks.back().get()), MemoryKind::kHost);
    ASSERT_TRUE(compared(blocks.back().get())) << i;
  }
  EXPECT_GT(detail::host_ranges.heap.bytes.load(), first);
}

TEST(MemoryKinds, AThreadKnowsItsOwnStackAndNoOther) {
  int of_main = 0;
  EXPECT_EQ(kind_of(&of_main), MemoryKind::kHost);
  const void* theirs = nullptr;
  std::thread([&] {
    int local = 0;
    EXPECT_FALSE(compared(&local)) << "before anything was asked";
    no_driver_since.doubt();  // otherwise the driver's absence answers at once
    EXPECT_EQ(kind_of(&local), MemoryKind::kHost);
    EXPECT_EQ(kind_of(&of_main), MemoryKind::kHost);
    EXPECT_EQ(kind_of(&of_thread), MemoryKind::kHost);
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_TRUE(compared(&local));
    EXPECT_FALSE(compared(&of_main));
#endif
    theirs = &local;
  }).join();
  EXPECT_FALSE(compared(theirs));  // the stack may become other memory
}

TEST(MemoryKinds, WhatIsMappedIsNotKnownByComparing) {
  const Mapping mapping;
  ASSERT_NE(mapping.address, MAP_FAILED);
  EXPECT_EQ(kind_of(mapping.address), MemoryKind::kHost);
  EXPECT_FALSE(compared(mapping.address));
  EXPECT_EQ(kind_of(nullptr), MemoryKind::kHost);
  EXPECT_EQ(look_up(mapping.address).buffer_id, 0U);
}

class MemoryKindsOfADriver : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = find_driver();
    if (driver_ == nullptr && on_gpu()) GTEST_SKIP() << "no CUDA driver here";
    ASSERT_NE(driver_, nullptr);
    CUdevice device = 0;
    ASSERT_TRUE(use_first_device(*driver_, &device, &context_));
  }
  /// asked() is 0 on the real driver, which does not count.
  static unsigned long long asked() {
    const auto calls = reinterpret_cast<unsigned long long (*)(const char*)>(
        ::dlsym(RTLD_DEFAULT, "softcuda_calls"));
    return calls == nullptr ? 0 : calls("cuPointerGetAttributes");
  }
  CUdeviceptr managed() {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver_->cuMemAllocManaged(&address, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    return address;
  }
  const Driver* driver_ = nullptr;
  CUcontext context_ = nullptr;
};

TEST_F(MemoryKindsOfADriver, ComparesNeedNoCall) {
  const auto block = std::make_unique<int>(0);
  int local = 0;
  (void)kind_of(&local);
  const unsigned long long before = asked();
  std::vector<const void*> known = {&initialised, &zero[500]};
  if (kHeapByBrk) known.push_back(block.get());
#if !defined(__SANITIZE_ADDRESS__)
  known.push_back(&local);
#endif
  for (const void* address : known) EXPECT_EQ(kind_of(address), MemoryKind::kHost);
  EXPECT_EQ(asked(), before);
  const Mapping mapping;
  EXPECT_EQ(kind_of(mapping.address), MemoryKind::kHost);
  EXPECT_EQ(kind_of(mapping.address), MemoryKind::kHost);
  EXPECT_EQ(asked(), before + (on_gpu() ? 0 : 2));
}

TEST_F(MemoryKindsOfADriver, EachKindAndItsAllocation) {
  CUdeviceptr device = 0;
  void* pinned = nullptr;
  ASSERT_EQ(driver_->cuMemAlloc_v2(&device, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(driver_->cuMemHostAlloc(&pinned, kBytes, 0), CUDA_SUCCESS);
  const CUdeviceptr both = managed();
  const auto last = [](CUdeviceptr at) { return reinterpret_cast<void*>(at + kBytes - 1); };
  EXPECT_EQ(kind_of(last(device)), MemoryKind::kDevice);
  EXPECT_EQ(kind_of(last(both)), MemoryKind::kManaged);
  EXPECT_EQ(kind_of(pinned), MemoryKind::kHost);
  const Memory found = look_up(last(device));
  EXPECT_EQ(found.kind, MemoryKind::kDevice);
  EXPECT_EQ(found.base, device);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_TRUE(found.legacy_ipc);
  EXPECT_FALSE(found.pooled);
  EXPECT_EQ(look_up(last(both)).kind, MemoryKind::kManaged);
  EXPECT_NE(look_up(last(both)).buffer_id, found.buffer_id);
  EXPECT_EQ(driver_->cuMemFree_v2(device), CUDA_SUCCESS);
  EXPECT_EQ(driver_->cuMemFree_v2(both), CUDA_SUCCESS);
  EXPECT_EQ(driver_->cuMemFreeHost(pinned), CUDA_SUCCESS);
}

// The software driver maps by mmap, so addresses recur.
TEST_F(MemoryKindsOfADriver, AnAddressThatComesBackIsAskedForAnew) {
  if (on_gpu()) GTEST_SKIP() << "the real driver has its own addresses";
  const Mapping hold;
  int reused = 0;
  for (int turn = 0; turn < 20; ++turn) {
    Mapping mapping;
    void* const place = mapping.address;
    ASSERT_EQ(kind_of(place), MemoryKind::kHost);
    mapping.give_back();
    const CUdeviceptr address = managed();
    ASSERT_EQ(kind_of(reinterpret_cast<void*>(address)), MemoryKind::kManaged);
    const uint64_t id = look_up(reinterpret_cast<void*>(address)).buffer_id;
    if (reinterpret_cast<void*>(address) == place) ++reused;
    ASSERT_EQ(driver_->cuMemFree_v2(address), CUDA_SUCCESS);
    const Mapping again(reinterpret_cast<void*>(address));
    ASSERT_EQ(again.address, reinterpret_cast<void*>(address));
    ASSERT_EQ(kind_of(again.address), MemoryKind::kHost);
    ASSERT_NE(look_up(again.address).buffer_id, id);
  }
  EXPECT_GT(reused, 0) << "no address was reused, so the test proves nothing";
}

// A finished thread's stack may become managed memory.
TEST_F(MemoryKindsOfADriver, AFormerStackIsNotTheHostsForEver) {
  const void* former = nullptr;
  std::thread([&] {
    int local = 0;
    EXPECT_EQ(kind_of(&local), MemoryKind::kHost);
    former = &local;
  }).join();
  const unsigned long long before = asked();
  (void)kind_of(former);
  EXPECT_EQ(asked(), before + (on_gpu() ? 0 : 1));
}

}  // namespace
}  // namespace tern::cuda::test
