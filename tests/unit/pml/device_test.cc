// SPDX-License-Identifier: Apache-2.0
// Messages of device memory on the software driver: eager, single copy, pieces, pinned chunks.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/datatype_build.hpp"
#include "tests/softcuda/control.h"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Process;
using pml::Buffer;
using pml::Envelope;
using pml::Mode;

constexpr size_t kLine = 64, kHole = 128;

enum class Where { kHost, kDevice };

const cuda::Driver& driver() { return *cuda::test::find_driver(); }

class Area {
 public:
  Area(Process& process, Where where, size_t bytes, bool holes)
      : where_(where), bytes_(bytes), holes_(holes), host_(span(), 0xee) {
    core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
    type_ = &byte;
    if (holes) {
      own_ = core::Ref<core::Datatype>(core::TypeBuilder().hvector(
          static_cast<MPI_Count>(lines()), 1, kHole, *core::TypeBuilder().contiguous(kLine, byte)));
      type_ = own_.get();
    }
    if (where == Where::kDevice) {
      EXPECT_EQ(driver().cuMemAlloc_v2(&device_, span()), CUDA_SUCCESS);
      upload();
    }
  }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  ~Area() {
    if (where_ == Where::kDevice) (void)driver().cuMemFree_v2(device_);
  }
  [[nodiscard]] Buffer buffer() const {
    void* const at = where_ == Where::kDevice ? reinterpret_cast<void*>(device_)
                                              : const_cast<uint8_t*>(host_.data());
    return {at, holes_ ? MPI_Count{1} : static_cast<MPI_Count>(bytes_), type_};
  }
  void fill(unsigned seed) {
    for (size_t i = 0; i < bytes_; ++i) host_[place(i)] = pattern(i, seed);
    if (where_ == Where::kDevice) upload();
  }
  void expect(unsigned seed) {
    if (where_ == Where::kDevice) {
      ASSERT_EQ(driver().cuMemcpyDtoHAsync_v2(host_.data(), device_, span(), nullptr),
                CUDA_SUCCESS);
      ASSERT_EQ(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    }
    for (size_t i = 0; i < bytes_; ++i)
      ASSERT_EQ(host_[place(i)], pattern(i, seed)) << "byte " << i << " of " << bytes_;
    if (holes_ && lines() > 1) {
      EXPECT_EQ(host_[kLine], 0xee) << "between the lines";
    }
  }

 private:
  static uint8_t pattern(size_t i, unsigned seed) {
    return static_cast<uint8_t>(i * 131 + seed * 7 + (i >> 8));
  }
  [[nodiscard]] size_t lines() const { return bytes_ / kLine; }
  [[nodiscard]] size_t span() const { return holes_ ? lines() * kHole : bytes_ + 1; }
  [[nodiscard]] size_t place(size_t i) const { return holes_ ? i / kLine * kHole + i % kLine : i; }
  void upload() {
    EXPECT_EQ(driver().cuMemcpyHtoDAsync_v2(device_, host_.data(), span(), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  }

  const Where where_;
  const size_t bytes_;
  const bool holes_;
  std::vector<uint8_t> host_;
  CUdeviceptr device_ = 0;
  core::Ref<core::Datatype> own_;
  core::Datatype* type_;
};

int wait(Process& process, core::Request* request) {
  process.channel(0).progress.mutex.lock();
  process.channel(0).progress.wait([request] { return request->done(); },
                                   [request](WaitReport* report) { request->describe(report); });
  process.channel(0).progress.mutex.unlock();
  const int error = request->outcome.error;
  request->release();
  return error;
}

Envelope with(Process& process, int rank) { return {process.world, rank, 5}; }

struct Way {
  const char* name;
  bool maps;
  bool bad_network = false;
  bool rdma = false;  // ranks of several hosts, with GPUDirect RDMA
};

class DeviceMessages : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (cuda::test::find_driver() == nullptr) GTEST_SKIP() << "no driver";
    world_.emplace(2, World::Settings{{"TERN_TEST.cuda_chunk", "64K"},
                                      {"TERN_TEST.cuda_kernels", cuda::test::kernel_file()}});
    if (GetParam().bad_network) world_->use(7);
    if (!GetParam().rdma) return;
    if (cuda::test::on_gpu()) GTEST_SKIP() << "no adapter";
    world_->between().maps = false;
    world_->between().bytes_of =
        reinterpret_cast<decltype(&softcuda_bytes)>(::dlsym(RTLD_DEFAULT, "softcuda_bytes"));
  }
  static void begin(Process& process) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUuuid id{};
    ASSERT_TRUE(cuda::test::use_first_device(driver(), &device, &context));
    ASSERT_EQ(driver().cuDeviceGetUuid_v2(&id, device), CUDA_SUCCESS);
    cuda::Uuid uuid;
    std::memcpy(uuid.bytes, id.bytes, sizeof uuid.bytes);
    if (!GetParam().maps) process.channel(0).pml->avoid(uuid, uuid);
  }
  void message(Where from, Where to, bool holes_from, bool holes_to,
               const std::vector<size_t>& sizes) {
    world_->run([&](Process& process) {
      begin(process);
      const bool sends = process.world_rank == 0;
      for (const size_t bytes : sizes) {
        Area area(process, sends ? from : to, bytes, sends ? holes_from : holes_to);
        if (sends) {
          area.fill(static_cast<unsigned>(bytes));
          EXPECT_EQ(process.channel(0).pml->send(area.buffer(), with(process, 1), Mode::kStandard),
                    MPI_SUCCESS);
        } else {
          EXPECT_EQ(process.channel(0).pml->recv(area.buffer(), with(process, 0), nullptr),
                    MPI_SUCCESS);
          area.expect(static_cast<unsigned>(bytes));
        }
      }
    });
  }
  std::optional<World> world_;
};

const std::vector<size_t> kSizes = {0, 1, 8, 777, 8191, 8192, 8193, 65535, 65536, 262147, 1500001};
const std::vector<size_t> kWholeLines = {64, 640, 8192, 8256, 65536, 1 << 20};

TEST_P(DeviceMessages, FromDeviceToDevice) {
  message(Where::kDevice, Where::kDevice, false, false, kSizes);
}
TEST_P(DeviceMessages, FromDeviceToHost) {
  message(Where::kDevice, Where::kHost, false, false, kSizes);
}
TEST_P(DeviceMessages, FromHostToDevice) {
  message(Where::kHost, Where::kDevice, false, false, kSizes);
}
TEST_P(DeviceMessages, WithHolesThatAreSent) {
  message(Where::kDevice, Where::kDevice, true, false, kWholeLines);
}
TEST_P(DeviceMessages, WithHolesThatAreReceived) {
  message(Where::kDevice, Where::kDevice, false, true, kWholeLines);
}
TEST_P(DeviceMessages, WithHolesAtBothEnds) {
  message(Where::kDevice, Where::kDevice, true, true, kWholeLines);
}
TEST_P(DeviceMessages, WithHolesAndTheHost) {
  message(Where::kDevice, Where::kHost, true, true, kWholeLines);
  message(Where::kHost, Where::kDevice, true, true, kWholeLines);
}

TEST_P(DeviceMessages, BothWaysAndManyAtOnce) {
  world_->run([&](Process& process) {
    begin(process);
    constexpr unsigned kMany = 6;
    const int other = 1 - process.world_rank;
    std::vector<std::unique_ptr<Area>> out, in;
    std::vector<core::Request*> requests;
    for (unsigned i = 0; i < kMany; ++i) {
      const size_t bytes = size_t{64} << (3 * i);
      out.push_back(std::make_unique<Area>(process, Where::kDevice, bytes, i % 2 == 1));
      in.push_back(std::make_unique<Area>(process, Where::kDevice, bytes, i % 3 == 1));
      out.back()->fill(i + 10 * static_cast<unsigned>(process.world_rank));
      core::Request* request = nullptr;
      ASSERT_EQ(process.channel(0).pml->isend(out.back()->buffer(), with(process, other),
                                              Mode::kStandard, &request),
                MPI_SUCCESS);
      requests.push_back(request);
      ASSERT_EQ(process.channel(0).pml->irecv(in.back()->buffer(), with(process, other), &request),
                MPI_SUCCESS);
      requests.push_back(request);
    }
    for (core::Request* const request : requests) EXPECT_EQ(wait(process, request), MPI_SUCCESS);
    for (unsigned i = 0; i < kMany; ++i) in[i]->expect(i + 10 * static_cast<unsigned>(other));
  });
}

TEST_P(DeviceMessages, AReadThatFailsIsAnErrorAtBothEnds) {
  if (cuda::test::on_gpu()) GTEST_SKIP() << "no failures on request";
  if (GetParam().rdma) GTEST_SKIP() << "adapters copy without the driver";
  const auto fault =
      reinterpret_cast<decltype(&softcuda_fault)>(::dlsym(RTLD_DEFAULT, "softcuda_fault"));
  ASSERT_NE(fault, nullptr);
  world_->run([&](Process& process) {
    begin(process);
    const auto go = [&](Area& area) {
      return process.world_rank == 0
                 ? process.channel(0).pml->send(area.buffer(), with(process, 1), Mode::kSynchronous)
                 : process.channel(0).pml->recv(area.buffer(), with(process, 0), nullptr);
    };
    std::string faults;  // copies for an offer may fail silently
    for (int call = 1; call <= 12; ++call)
      for (const char* const name : {"cuLaunchKernel", "cuMemcpyAsync"})
        faults +=
            (faults.empty() ? "" : ",") + std::string(name) + ":" + std::to_string(call) + ":1";
    for (const size_t bytes : {size_t{8}, size_t{1} << 20}) {
      Area area(process, Where::kDevice, bytes, false);
      process.boot->fence();
      if (process.world_rank == 0) fault(faults.c_str());
      const int code = go(area);
      if (process.world_rank == 1) {
        EXPECT_NE(code, MPI_SUCCESS) << bytes;
      }
      process.boot->fence();
      if (process.world_rank == 0) fault("");
      process.boot->fence();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, DeviceMessages,
                         testing::Values(Way{"Mapped", true}, Way{"Bounced", false},
                                         Way{"OverABadNetwork", true, true},
                                         Way{"BouncedOverABadNetwork", false, true},
                                         Way{"ByRdma", true, true, true}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace tern::test
