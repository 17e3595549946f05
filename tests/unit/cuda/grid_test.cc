// SPDX-License-Identifier: Apache-2.0
// The shim that runs kernels on the host: indices, barriers, shuffles, spin loops, resident grids,
// the watchdog.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/softcuda/shim/device_host.hpp"
#include "tests/softcuda/shim/fiber.hpp"

namespace tern::softcuda::test {
namespace {

struct Places {
  int* seen;
};
TERN_KERNEL(test_places, Places, 1024, alone) {
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  DEV(arguments.seen)[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
}

struct Words {
  uint32_t* words;
  int n;
};
TERN_KERNEL(test_reverse, Words, 1024, together) {
  TERN_SHARED(uint32_t, shared);
  shared[threadIdx.x] = arguments.words[threadIdx.x];
  __syncthreads();
  arguments.words[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}
/// Without the barrier, the kernel has a race for TSan.
TERN_KERNEL(test_race, Words, 1024, together) {
  TERN_SHARED(uint32_t, shared);
  shared[threadIdx.x] = arguments.words[threadIdx.x];
  arguments.words[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}
TERN_KERNEL(test_warp_sum, Words, 1024, together) {
  uint32_t sum = arguments.words[threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
  arguments.words[threadIdx.x] = sum;
}
TERN_KERNEL(test_chain, Words, 1024, together) {
  uint32_t* const word = DEV(arguments.words);
  if (threadIdx.x == 0) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != gridDim.x - 1 - blockIdx.x) spin_pause();
    __atomic_store_n(word, gridDim.x - blockIdx.x, __ATOMIC_RELEASE);
  }
  __syncthreads();
}
TERN_KERNEL(test_leavers, Words, 1024, together) {
  if (threadIdx.x % 2 == 1) return;
  __syncthreads();
  atomicAdd(DEV(arguments.words), 1U);
}
TERN_KERNEL(test_hang, Words, 1024, together) {
  while (__atomic_load_n(arguments.words, __ATOMIC_ACQUIRE) != 12345) spin_pause();
}
TERN_KERNEL(test_hang_plainly, Words, 1024, alone) {
  while (__atomic_load_n(arguments.words, __ATOMIC_ACQUIRE) != 12345) spin_pause();
}

int launch(const char* name, const TernLaunch& shape, const void* parameter,
           std::string* why = nullptr) {
  const TernHostKernels* kernels = tern_host_kernels();
  char text[256] = "";
  const int result = kernels->launch(kernels->find(name), &shape, parameter, text, sizeof text);
  if (why != nullptr) *why = text;
  return result;
}

TEST(Grid, EveryThreadRunsOnce) {
  std::vector<int> seen(6 * 24, 0);
  const Places places{seen.data()};
  ASSERT_EQ(launch("test_places", {{3, 2, 1}, {4, 3, 2}, 0, 0}, &places), 0);
  EXPECT_EQ(seen, std::vector<int>(6 * 24, 1));
}

TEST(Grid, BarriersOrderSharedMemory) {
  std::vector<uint32_t> words(256);
  for (uint32_t i = 0; i < 256; ++i) words[i] = i;
  const Words parameter{words.data(), 256};
  ASSERT_EQ(launch("test_reverse", {{1, 1, 1}, {256, 1, 1}, 1024, 0}, &parameter), 0);
  for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(words[i], 255 - i);
}

// Each kernel thread is a TSan fiber, so TSan names both threads.
TEST(GridDeathTest, AMissingBarrierIsARaceForTSan) {
  if (!tsan()) GTEST_SKIP() << "not built with TSan";
  std::vector<uint32_t> words(64, 1);
  const Words parameter{words.data(), 64};
  EXPECT_DEATH(
      {
        (void)launch("test_race", {{1, 1, 1}, {64, 1, 1}, 256, 0}, &parameter);
        std::_Exit(0);
      },
      "data race");
}

TEST(Grid, ShufflesExchangeInAWarp) {
  std::vector<uint32_t> words(64);
  for (uint32_t i = 0; i < 64; ++i) words[i] = i;
  const Words parameter{words.data(), 64};
  ASSERT_EQ(launch("test_warp_sum", {{1, 1, 1}, {64, 1, 1}, 0, 0}, &parameter), 0);
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(words[i], i < 32 ? 496U : 1520U);
}

TEST(Grid, BlocksOfACooperativeLaunchAreAliveTogether) {
  uint32_t word = 0;
  const Words parameter{&word, 1};
  ASSERT_EQ(launch("test_chain", {{7, 1, 1}, {32, 1, 1}, 0, 1}, &parameter), 0);
  EXPECT_EQ(word, 7U);
}

TEST(Grid, WhoHasEndedIsNotAwaited) {
  uint32_t word = 0;
  const Words parameter{&word, 1};
  ASSERT_EQ(launch("test_leavers", {{2, 1, 1}, {64, 1, 1}, 0, 0}, &parameter), 0);
  EXPECT_EQ(word, 64U);
}

TEST(Grid, TheWatchdogNamesAKernelThatHangs) {
  ::setenv("HOST_KERNELS_TIMEOUT", "1", 1);
  uint32_t word = 0;
  const Words parameter{&word, 1};
  for (const char* name : {"test_hang", "test_hang_plainly"}) {
    std::string why;
    EXPECT_EQ(launch(name, {{1, 1, 1}, {32, 1, 1}, 0, 0}, &parameter, &why), 702);
    EXPECT_NE(why.find(name), std::string::npos) << why;
  }
  ASSERT_EQ(launch("test_leavers", {{1, 1, 1}, {64, 1, 1}, 0, 0}, &parameter), 0);
  ::unsetenv("HOST_KERNELS_TIMEOUT");
}

TEST(Grid, WhatNoDeviceRunsIsRefused) {
  uint32_t word = 0;
  const Words parameter{&word, 1};
  std::string why;
  EXPECT_EQ(launch("test_leavers", {{0, 1, 1}, {64, 1, 1}, 0, 0}, &parameter, &why), 1);
  EXPECT_EQ(launch("test_leavers", {{1, 1, 1}, {2048, 1, 1}, 0, 0}, &parameter, &why), 1);
  EXPECT_NE(why.find("2048"), std::string::npos) << why;
}

}  // namespace
}  // namespace tern::softcuda::test
