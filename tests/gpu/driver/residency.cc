// SPDX-License-Identifier: Apache-2.0
// Resident blocks of a single process and of two, and GPU instances.
#include "kernels.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace driver_test {
namespace {

class Residency : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    OK(cu().cuDeviceGetAttribute(&processors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    word_ = allocate(4);
    fill(word_, 0, 4);
  }
  unsigned places(TestKernels& kernels, int threads) {
    int each = 0;
    EXPECT_EQ(cu().cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernels.find("test_meet"),
                                                               threads, 0),
              CUDA_SUCCESS);
    return static_cast<unsigned>(each * processors_);
  }
  int processors_ = 0;
  CUdeviceptr word_ = 0;
};

TEST_F(Residency, AsManyBlocksAsFitMeet) {
  TestKernels kernels;
  for (const unsigned threads : {1U, 256U}) {
    const unsigned blocks = places(kernels, static_cast<int>(threads));
    fill(word_, 0, 4);
    OK(kernels.launch("test_meet", stream_, word_, blocks, blocks, threads));
    OK(cu().cuStreamSynchronize(stream_));
  }
}

TEST_F(Residency, BlocksOfTwoKernelsMeetWhileBothFit) {
  TestKernels kernels;
  const unsigned blocks = places(kernels, 32);
  OK(kernels.launch("test_store", stream_, word_, 0));
  OK(kernels.launch("test_meet", stream_, word_, 1));
  OK(cu().cuStreamSynchronize(stream_));
  for (int turn = 0; turn < 5; ++turn) {
    fill(word_, 0, 4);
    OK(kernels.launch("test_meet", stream_, word_, blocks, blocks / 2, 32));
    OK(kernels.launch("test_meet", other_, word_, blocks, blocks - blocks / 2, 32));
    OK(cu().cuStreamSynchronize(stream_));
    OK(cu().cuStreamSynchronize(other_));
  }
}

TEST_F(Residency, MoreBlocksThanFitComeOneAfterTheOther) {
  TestKernels kernels;
  const unsigned blocks = 3 * places(kernels, 64) + 1;
  OK(kernels.launch("test_meet", stream_, word_, 1, blocks, 64));
  const std::vector<unsigned char> got = bytes_at(word_, 4);
  uint32_t sum = 0;
  memcpy(&sum, got.data(), sizeof sum);
  EXPECT_EQ(sum, blocks);
}

// A block waits forever for a block without room; the watchdog reports the hang.
int crowded_peer(int socket) {
  setenv("HOST_KERNELS_TIMEOUT", "1", 1);
  dup2(socket, STDERR_FILENO);
  const CUstream stream = begin_peer();
  TestKernels kernels;
  CUdeviceptr word = 0;
  int processors = 0;
  MUST(cu().cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  MUST(cu().cuMemAlloc_v2(&word, 4));
  MUST(cu().cuMemsetD32Async(word, 0, 1, stream));
  const auto blocks = static_cast<unsigned>(2 * processors + 1);
  MUST(kernels.launch("test_meet", stream, word, blocks, blocks, 32));
  const CUresult ended = cu().cuStreamSynchronize(stream);
  close(socket);
  close(STDERR_FILENO);
  _exit(ended == CUDA_ERROR_LAUNCH_TIMEOUT ? 0 : 1);
}
const Role kCrowded("crowded", crowded_peer);

TEST_F(Residency, ABlockThatWaitsForOneWithoutAPlaceHangs) {
  if (!cu().is_soft) GTEST_SKIP() << "software driver only";
  Peer peer("crowded");
  const std::string said = words_of(peer);
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_NE(said.find("kernel test_meet hangs: of its 9 blocks of 32 threads 8 are resident"),
            std::string::npos)
      << said;
}

int meeting_peer(int socket) {
  setenv("HOST_KERNELS_TIMEOUT", "2", 1);
  const CUstream stream = begin_peer();
  TestKernels kernels;
  CUipcMemHandle handle;
  CUdeviceptr word = 0;
  receive_bytes(socket, &handle, sizeof handle);
  MUST(cu().cuIpcOpenMemHandle_v2(&word, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  MUST(kernels.launch("test_meet", stream, word, 3));
  send_bytes(socket, "x", 1);
  const CUresult ended = cu().cuStreamSynchronize(stream);
  _exit(ended == CUDA_SUCCESS ? 0 : ended == CUDA_ERROR_LAUNCH_TIMEOUT ? 1 : 2);
}
const Role kMeeting("meeting", meeting_peer);

TEST_F(Residency, KernelsOfTwoProcessesMeetUnderMps) {
  int mps = 0;
  OK(cu().cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
  const bool shared = getenv("SOFTCUDA_SHARED") != nullptr;
  if (cu().is_soft ? !shared : mps == 0) GTEST_SKIP() << "needs a device shared under MPS";
  Peer peer("meeting"), other("meeting");
  CUipcMemHandle handle;
  OK(cu().cuIpcGetMemHandle(&handle, word_));
  char byte = 0;
  send_bytes(peer.socket, &handle, sizeof handle);
  receive_bytes(peer.socket, &byte, 1);
  OK(cu().cuMemsetD8Async(word_ + 1, 0, 1, stream_));
  OK(cu().cuStreamSynchronize(stream_));
  send_bytes(other.socket, &handle, sizeof handle);
  receive_bytes(other.socket, &byte, 1);
  usleep(50'000);
  if (mps != 0) {
    TestKernels kernels;
    OK(kernels.launch("test_meet", stream_, word_, 3));
    OK(cu().cuStreamSynchronize(stream_));
  }
  // Without MPS, a kernel keeps the device until the watchdog ends the kernel.
  EXPECT_EQ(peer.wait(), mps != 0 ? 0 : 1);
  EXPECT_EQ(other.wait(), mps != 0 ? 0 : 1);
}

TEST(Process, InstancesOfAGpuAreDevicesOfTheirOwn) {
  int count = 0;
  char first[64] = "", second[64] = "";
  OK(cu().cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device";
  OK(cu().cuDeviceGetPCIBusId(first, sizeof first, 0));
  OK(cu().cuDeviceGetPCIBusId(second, sizeof second, 1));
  if (strcmp(first, second) != 0) GTEST_SKIP() << "GPUs of their own";
  CUuuid one, other;
  OK(cu().cuDeviceGetUuid_v2(&one, 0));
  OK(cu().cuDeviceGetUuid_v2(&other, 1));
  EXPECT_NE(memcmp(&one, &other, sizeof one), 0);
  int access = 1;
  OK(cu().cuDeviceCanAccessPeer(&access, 0, 1));
  EXPECT_EQ(access, 0);
}

}  // namespace
}  // namespace driver_test
