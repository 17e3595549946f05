// SPDX-License-Identifier: Apache-2.0
// Memory order between kernels.
#include "kernels.hpp"

#include <unistd.h>

#include <cstdlib>

namespace driver_test {
namespace {

class MemoryOrder : public KernelTest {};

uint32_t publish_and_read(TestKernels& kernels, const CUstream (&streams)[2], CUdeviceptr memory,
                          bool writer_is_careful, bool reader_is_careful) {
  constexpr size_t kFlag = 1024, kWrong = 2048;
  const auto launch = [&](const char* name, CUstream stream, uint32_t value, bool careful) {
    tern::softcuda::PublishArguments arguments{
        reinterpret_cast<char*>(memory), reinterpret_cast<uint32_t*>(memory + kFlag),
        reinterpret_cast<uint32_t*>(memory + kWrong), value, careful};
    void* parameters[] = {&arguments};
    EXPECT_EQ(
        cu().cuLaunchKernel(kernels.find(name), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
        CUDA_SUCCESS);
  };
  EXPECT_EQ(cu().cuMemsetD8Async(memory, 0, 4096, streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  for (const char* name : {"test_read", "test_publish"})
    if (cu().cuFuncLoad != nullptr) {
      EXPECT_EQ(cu().cuFuncLoad(kernels.find(name)), CUDA_SUCCESS);
    }
  for (uint32_t value = 1; value <= 50; ++value) {
    const bool careful = writer_is_careful && reader_is_careful;
    if (!careful) {
      launch("test_read", streams[0], value, reader_is_careful);
      usleep(1000);
    }
    launch("test_publish", streams[1], value, writer_is_careful);
    if (careful) launch("test_read", streams[0], value, true);
    for (const CUstream stream : streams) EXPECT_EQ(cu().cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  uint32_t wrong = 0;
  EXPECT_EQ(cu().cuMemcpyDtoHAsync_v2(&wrong, memory + kWrong, sizeof wrong, streams[0]),
            CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  return wrong;
}

TEST_F(MemoryOrder, WhatIsReleasedIsSeenByWhoAcquires) {
  TestKernels kernels;
  const CUdeviceptr memory = allocate(4096);
  const CUstream streams[2] = {stream_, other_};
  EXPECT_EQ(publish_and_read(kernels, streams, memory, true, true), 0u);
}

// The software driver must show the errors of weak memory order; a device promises nothing.
int weak_peer(int) {
  setenv("SOFTCUDA_WEAK", "on", 1);
  const CUstream stream = begin_peer();
  CUstream other = nullptr;
  CUdeviceptr memory = 0;
  MUST(cu().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cu().cuMemAlloc_v2(&memory, 4096));
  TestKernels kernels;
  const CUstream streams[2] = {stream, other};
  if (publish_and_read(kernels, streams, memory, true, true) != 0) return 2;
  const auto is_seen = [&](bool writer_is_careful) {
    bool seen = false;
    for (int times = 0; times < 40 && !seen; ++times)
      seen = publish_and_read(kernels, streams, memory, writer_is_careful, !writer_is_careful) != 0;
    return seen;
  };
  if (!is_seen(/*writer_is_careful=*/false)) return 3;
  if (!is_seen(/*writer_is_careful=*/true)) return 4;
  return ::testing::Test::HasFailure() ? 5 : 0;
}
const Role kWeak("weak", weak_peer);

// Over NVLink the last word of a line arrives last.
int lines_peer(int, const char* links) {
  setenv("SOFTCUDA_WEAK", "on", 1);
  setenv("SOFTCUDA_DEVICES", "2", 1);
  setenv("SOFTCUDA_PEERS", links, 1);
  setenv("SOFTCUDA_MIG", "off", 1);
  const CUstream reader = begin_peer(1);
  CUdeviceptr memory = 0;
  CUcontext owner = nullptr;
  MUST(cu().cuCtxGetCurrent(&owner));
  MUST(cu().cuMemAlloc_v2(&memory, 4096));
  MUST(cu().cuMemsetD8Async(memory, 0, 4096, reader));
  MUST(cu().cuStreamSynchronize(reader));
  TestKernels kernels;
  const auto launch = [&](const char* name, CUstream stream, uint32_t value) {
    tern::softcuda::PublishArguments arguments{reinterpret_cast<char*>(memory), nullptr,
                                               reinterpret_cast<uint32_t*>(memory + 2048), value,
                                               0};
    void* parameters[] = {&arguments};
    MUST(cu().cuLaunchKernel(kernels.find(name), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  };
  const CUstream writer = begin_peer(0);
  MUST(cu().cuCtxEnablePeerAccess(owner, 0));
  const bool whole = strcmp(links, "NV") == 0;
  uint32_t wrong = 0;
  for (uint32_t value = 1; value <= 50 || (!whole && wrong == 0 && value <= 2000); ++value) {
    MUST(cu().cuCtxPushCurrent_v2(owner));
    launch("test_read_line", reader, value);
    MUST(cu().cuCtxPopCurrent_v2(nullptr));
    usleep(500);
    launch("test_line", writer, value);
    MUST(cu().cuStreamSynchronize(writer));
    MUST(cu().cuMemcpyDtoHAsync_v2(&wrong, memory + 2048, sizeof wrong, reader));
    MUST(cu().cuStreamSynchronize(reader));
  }
  return (wrong == 0) == whole ? 0 : 2;
}
int nvlink_peer(int socket) { return lines_peer(socket, "NV"); }
int pcie_peer(int socket) { return lines_peer(socket, "PCIE"); }
const Role kLines[] = {{"nvlink", nvlink_peer}, {"pcie", pcie_peer}};

TEST_F(MemoryOrder, LinesTearOverPcieAndNotOverNvlink) {
  if (!cu().is_soft) GTEST_SKIP() << "software driver only";
  for (const char* link : {"nvlink", "pcie"}) {
    Peer peer(link);
    EXPECT_EQ(peer.wait(), 0) << link;
  }
}

TEST_F(MemoryOrder, AMissingReleaseOrAcquireIsSeenWhereMemoryIsWeak) {
  if (!cu().is_soft) GTEST_SKIP() << "software driver only";
  Peer peer("weak");
  EXPECT_EQ(peer.wait(), 0);
}

}  // namespace
}  // namespace driver_test
