// SPDX-License-Identifier: Apache-2.0
// Device memory by RDMA between hosts, on the software driver: registrations, flushes, refusals.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/softcuda/control.h"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Process;
using pml::Mode;

constexpr size_t kBytes = 1500001;

const cuda::Driver& driver() { return *cuda::test::find_driver(); }

template <class Function>
Function* control(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

uint64_t flushes() {
  return control<decltype(softcuda_calls)>("softcuda_calls")("cuFlushGPUDirectRDMAWrites");
}

uint8_t* view(CUdeviceptr at) {
  return static_cast<uint8_t*>(
      control<decltype(softcuda_bytes)>("softcuda_bytes")(reinterpret_cast<void*>(at)));
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    EXPECT_EQ(driver().cuMemAlloc_v2(&at, bytes), CUDA_SUCCESS);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { (void)driver().cuMemFree_v2(at); }
  CUdeviceptr at = 0;
};

uint8_t at(size_t i, size_t seed) { return static_cast<uint8_t>(i * 131 + (i >> 12) + seed); }

class DeviceRdma : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::test::find_driver() == nullptr || cuda::test::on_gpu())
      GTEST_SKIP() << "needs the software driver";
  }
  void run(const World::Settings& settings, const World::Rank& body) {
    World world(2, settings);
    world.use(3);
    world.between().maps = false;
    world.between().bytes_of = control<decltype(softcuda_bytes)>("softcuda_bytes");
    world.between().refuses_memory = refuses_;
    world.run([&](Process& process) {
      CUdevice device = 0;
      CUcontext context = nullptr;
      ASSERT_TRUE(cuda::test::use_first_device(driver(), &device, &context));
      body(process);
      EXPECT_EQ(process.registrations.bytes, 0u);
    });
  }
  /// A message from rank 0's memory to rank 1's.
  static void message(Process& process, CUdeviceptr memory, size_t bytes, size_t seed) {
    const pml::Buffer buffer{reinterpret_cast<void*>(memory), static_cast<MPI_Count>(bytes),
                             &core::predefined_type(process, MPI_BYTE)};
    const pml::Envelope envelope{process.world, 1 - process.world_rank, 5};
    pml::Pml& pml = *process.channel(0).pml;
    uint8_t* const seen = view(memory);
    if (process.world_rank == 0) {
      for (size_t i = 0; i < bytes; ++i) seen[i] = at(i, seed);
      ASSERT_EQ(pml.send(buffer, envelope, Mode::kSynchronous), MPI_SUCCESS);
      return;
    }
    ASSERT_EQ(pml.recv(buffer, envelope, nullptr), MPI_SUCCESS);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(seen[i], at(i, seed)) << i;
  }
  static uint64_t reads_of(Process& process) {
    pml::Statistics figures;
    process.channel(0).pml->add_up(nullptr, &figures);
    return figures.read_by_rdma;
  }
  uint32_t refuses_ = 0;
};

TEST_F(DeviceRdma, AnAllocationIsRegisteredOnceAndFlushedPerMessage) {
  const uint64_t before = flushes();
  run({}, [](Process& process) {
    const DeviceMemory memory(2 * kBytes);
    for (size_t i = 0; i < 4; ++i) message(process, memory.at + i * 1000, kBytes, i);
    const auto& devices = process.registrations.devices;
    EXPECT_EQ(devices.made, 1u);
    EXPECT_EQ(devices.hits, 3u);
    EXPECT_EQ(devices.evicted + devices.refused, 0u);
    EXPECT_EQ(devices.bytes, 2 * kBytes);
    EXPECT_EQ(process.registrations.asked, 0u);
    EXPECT_EQ(reads_of(process), process.world_rank == 0 ? 4u : 0u);
  });
  EXPECT_EQ(flushes() - before, 4u);
}

TEST_F(DeviceRdma, FreedMemoryIsReleasedBeforeItsSuccessorIsRegistered) {
  run({}, [](Process& process) {
    for (size_t i = 0; i < 5; ++i) {
      const DeviceMemory memory(kBytes);
      message(process, memory.at, kBytes, i);
    }
    EXPECT_EQ(process.registrations.devices.made, 5u);
    EXPECT_EQ(process.registrations.devices.hits, 0u);
    EXPECT_EQ(process.registrations.devices.evicted, 0u);
    EXPECT_EQ(process.registrations.devices.bytes, kBytes);
  });
}

TEST_F(DeviceRdma, TheLimitEvictsWhatWasUsedLeastRecently) {
  run({{"TERN_NET_CACHE", std::to_string(2 * kBytes)}}, [](Process& process) {
    const DeviceMemory one(kBytes), two(kBytes), three(kBytes), large(3 * kBytes);
    const auto& devices = process.registrations.devices;
    message(process, one.at, kBytes, 1);
    message(process, two.at, kBytes, 2);
    message(process, one.at, kBytes, 3);
    message(process, three.at, kBytes, 4);  // evicts two
    EXPECT_EQ(devices.made, 3u);
    EXPECT_EQ(devices.hits, 1u);
    EXPECT_EQ(devices.evicted, 1u);
    message(process, one.at, kBytes, 5);
    EXPECT_EQ(devices.hits, 2u);
    message(process, large.at, 3 * kBytes, 6);  // beyond the limit: alone, and not kept
    EXPECT_EQ(devices.made, 4u);
    EXPECT_EQ(devices.evicted, 4u);
    EXPECT_EQ(devices.bytes, 0u);
  });
}

TEST_F(DeviceRdma, RefusedMemoryGoesThroughTheHost) {
  refuses_ = 1;
  run({}, [](Process& process) {
    const DeviceMemory memory(kBytes);
    for (size_t i = 0; i < 3; ++i) message(process, memory.at, kBytes, i);
    EXPECT_EQ(process.registrations.devices.made, 0u);
    EXPECT_EQ(process.registrations.devices.refused, process.world_rank == 0 ? 3u : 0u);
    EXPECT_EQ(reads_of(process), 0u);
  });
}

TEST_F(DeviceRdma, SomeRefusalsLoseNoData) {
  refuses_ = 3;
  run({}, [](Process& process) {
    for (size_t i = 0; i < 24; ++i) {
      const DeviceMemory memory(kBytes);
      message(process, memory.at, kBytes, i);
    }
  });
}

// Without a key of the sender, the sender puts.
TEST_F(DeviceRdma, TheSenderPutsIntoDeviceMemory) {
  constexpr size_t kSome = 300001;
  refuses_ = 2;
  const uint64_t before = flushes();
  uint64_t written = 0;
  run({}, [&](Process& process) {
    std::vector<uint8_t> host(kSome);
    for (size_t i = 0; i < 100; ++i) {
      const DeviceMemory memory(kSome);
      const pml::Buffer buffer{
          process.world_rank == 0 ? host.data() : reinterpret_cast<void*>(memory.at),
          static_cast<MPI_Count>(kSome), &core::predefined_type(process, MPI_BYTE)};
      const pml::Envelope envelope{process.world, 1 - process.world_rank, 5};
      pml::Pml& pml = *process.channel(0).pml;
      if (process.world_rank == 0) {
        for (size_t k = 0; k < kSome; ++k) host[k] = at(k, i);
        ASSERT_EQ(pml.send(buffer, envelope, Mode::kStandard), MPI_SUCCESS);
        continue;
      }
      ASSERT_EQ(pml.recv(buffer, envelope, nullptr), MPI_SUCCESS);
      const uint8_t* const seen = view(memory.at);
      for (size_t k = 0; k < kSome; ++k) ASSERT_EQ(seen[k], at(k, i)) << k;
    }
    pml::Statistics figures;
    process.channel(0).pml->add_up(nullptr, &figures);
    if (process.world_rank == 0) written = figures.written_by_rdma + figures.read_by_rdma;
    EXPECT_TRUE(process.world_rank == 1 || figures.written_by_rdma != 0);
  });
  EXPECT_EQ(flushes() - before, written);
}

TEST_F(DeviceRdma, AFlushThatFailsIsAnError) {
  const auto fault = control<decltype(softcuda_fault)>("softcuda_fault");
  run({}, [&](Process& process) {
    const DeviceMemory memory(kBytes);
    const pml::Buffer buffer{reinterpret_cast<void*>(memory.at), static_cast<MPI_Count>(kBytes),
                             &core::predefined_type(process, MPI_BYTE)};
    const pml::Envelope envelope{process.world, 1 - process.world_rank, 5};
    pml::Pml& pml = *process.channel(0).pml;
    if (process.world_rank == 0) {
      EXPECT_NE(pml.send(buffer, envelope, Mode::kSynchronous), MPI_SUCCESS);
      return;
    }
    fault("cuFlushGPUDirectRDMAWrites:1:999");
    EXPECT_NE(pml.recv(buffer, envelope, nullptr), MPI_SUCCESS);
    fault("");
  });
}

}  // namespace
}  // namespace tern::test
