// SPDX-License-Identifier: Apache-2.0
// Stream semaphores, under a fake driver that keeps requested writes.
#include "cuda/streams.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tern::cuda {
namespace {

struct Fake {
  std::vector<std::pair<CUdeviceptr, uint32_t>> writes;
  int streams = 0, priority = 0, pages = 0;
  alignas(64) std::array<std::byte, 4096> page;
  bool refuses_page = false, refuses_write = false;
} fake;

Driver fake_driver() {
  Driver driver;
  driver.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) {
    return *least = 0, *greatest = -5, CUDA_SUCCESS;
  };
  driver.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int priority) {
    fake.priority = priority;
    *stream = reinterpret_cast<CUstream>(static_cast<uintptr_t>(++fake.streams));
    return CUDA_SUCCESS;
  };
  driver.cuStreamDestroy_v2 = [](CUstream) { return --fake.streams, CUDA_SUCCESS; };
  driver.cuMemHostAlloc = [](void** at, size_t, unsigned) {
    if (fake.refuses_page) return CUDA_ERROR_OUT_OF_MEMORY;
    ++fake.pages;
    return *at = fake.page.data(), CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void*) { return --fake.pages, CUDA_SUCCESS; };
  driver.cuMemHostGetDevicePointer_v2 = [](CUdeviceptr* at, void* host, unsigned) {
    return *at = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS;
  };
  driver.cuStreamWriteValue32_v2 = [](CUstream, CUdeviceptr at, uint32_t value, unsigned) {
    if (fake.refuses_write) return CUDA_ERROR_NOT_SUPPORTED;
    return fake.writes.emplace_back(at, value), CUDA_SUCCESS;
  };
  return driver;
}

class StreamsTest : public ::testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  void TearDown() override {
    streams_.destroy();
    EXPECT_EQ(fake.pages, 0);
  }
  Stream* make() {
    CUresult error = CUDA_SUCCESS;
    return streams_.make(&error);
  }
  static void come() {
    const auto [at, value] = fake.writes.front();
    reinterpret_cast<std::atomic<uint32_t>*>(at)->store(value);
    fake.writes.erase(fake.writes.begin());
  }
  const Driver driver_ = fake_driver();
  Streams streams_{driver_};
};

TEST_F(StreamsTest, TheLastWordCounts) {
  Stream* const stream = make();
  EXPECT_EQ(fake.priority, -5);
  ASSERT_TRUE(stream->ask(driver_));
  ASSERT_TRUE(stream->ask(driver_));
  EXPECT_FALSE(stream->has_come());
  come();
  EXPECT_FALSE(stream->has_come());
  come();
  EXPECT_TRUE(stream->has_come());
  streams_.end(stream);
}

TEST_F(StreamsTest, EachHasAWordOfItsOwn) {
  Stream* const one = make();
  Stream* const other = make();
  ASSERT_TRUE(one->ask(driver_) && other->ask(driver_));
  come();
  EXPECT_TRUE(one->has_come());
  EXPECT_FALSE(other->has_come());
  EXPECT_TRUE(streams_.give_back(one));
  EXPECT_EQ(streams_.idle(), one);
  EXPECT_TRUE(one->has_come());
  streams_.end(one);
  streams_.end(other);
}

TEST_F(StreamsTest, AWriteThatIsLateIsOfNoOtherStream) {
  Stream* const old = make();
  ASSERT_TRUE(old->ask(driver_));
  streams_.end(old);
  Stream* const fresh = make();
  ASSERT_TRUE(fresh->ask(driver_));
  come();
  EXPECT_FALSE(fresh->has_come());
  streams_.end(fresh);
}

TEST_F(StreamsTest, WithoutWordsTheDriverIsAsked) {
  fake.refuses_page = true;
  Stream* const without = make();
  EXPECT_FALSE(without->ask(driver_));
  fake.refuses_page = false;
  Stream* const with = make();
  fake.refuses_write = true;
  EXPECT_FALSE(with->ask(driver_));
  streams_.end(without);
  streams_.end(with);
  std::vector<Stream*> many;
  for (int i = 0; i < 100; ++i) many.push_back(make());
  EXPECT_EQ(many.back()->word, nullptr) << "the page is full";
  for (Stream* stream : many) streams_.end(stream);
  EXPECT_EQ(fake.streams, 0);
}

}  // namespace
}  // namespace tern::cuda
