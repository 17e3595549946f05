// SPDX-License-Identifier: Apache-2.0
// Contexts, streams, events, host functions.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "driver.hpp"

namespace driver_test {
namespace {

class Streams : public Gpu {};

struct Gate {
  std::atomic<bool> open{false};
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open.load()) std::this_thread::yield();
  }
};

TEST_F(Streams, WorkIsDoneInOrderAndLater) {
  const CUdeviceptr address = allocate(4096);
  Gate gate;
  OK(cu().cuLaunchHostFunc(stream_, Gate::wait, &gate));
  OK(cu().cuMemsetD8Async(address, 1, 4096, stream_));
  EXPECT_EQ(cu().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cu().cuStreamSynchronize(stream_));
  EXPECT_EQ(cu().cuStreamQuery(stream_), CUDA_SUCCESS);
  EXPECT_EQ(bytes_at(address, 1)[0], 1);
}

TEST_F(Streams, EventsOrderStreams) {
  CUstream other = nullptr;
  CUevent event = nullptr;
  OK(cu().cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
  OK(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(cu().cuEventQuery(event), CUDA_SUCCESS);
  OK(cu().cuStreamWaitEvent(other, event, 0));
  OK(cu().cuStreamSynchronize(other));
  Gate gate;
  OK(cu().cuLaunchHostFunc(stream_, Gate::wait, &gate));
  OK(cu().cuEventRecord(event, stream_));
  OK(cu().cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(cu().cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cu().cuStreamSynchronize(other));
  EXPECT_EQ(cu().cuEventQuery(event), CUDA_SUCCESS);
  OK(cu().cuEventDestroy_v2(event));
  OK(cu().cuStreamDestroy_v2(other));
}

TEST_F(Streams, AWaitIsForTheRecordThatWas) {
  CUstream other = nullptr;
  CUevent event = nullptr;
  OK(cu().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  OK(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cu().cuEventRecord(event, stream_));
  OK(cu().cuStreamWaitEvent(other, event, 0));
  Gate gate;
  OK(cu().cuLaunchHostFunc(stream_, Gate::wait, &gate));
  OK(cu().cuEventRecord(event, stream_));
  OK(cu().cuStreamSynchronize(other));
  gate.open = true;
  OK(cu().cuEventSynchronize(event));
  OK(cu().cuEventDestroy_v2(event));
  OK(cu().cuStreamDestroy_v2(other));
}

TEST_F(Streams, TheLegacyStreamWaitsForBlockingOnes) {
  CUstream blocking = nullptr;
  OK(cu().cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  Gate gate;
  const CUdeviceptr address = allocate(64);
  OK(cu().cuLaunchHostFunc(blocking, Gate::wait, &gate));
  EXPECT_EQ(cu().cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  OK(cu().cuMemsetD8Async(address, 1, 64, CU_STREAM_LEGACY));
  EXPECT_EQ(cu().cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  fill(address, 2, 64);
  gate.open = true;
  OK(cu().cuStreamSynchronize(nullptr));
  EXPECT_EQ(bytes_at(address, 64)[0], 1);
  OK(cu().cuStreamDestroy_v2(blocking));
}

TEST_F(Streams, EventsKnowTheTime) {
  CUevent begin = nullptr, end = nullptr, silent = nullptr;
  OK(cu().cuEventCreate(&begin, CU_EVENT_DEFAULT));
  OK(cu().cuEventCreate(&end, CU_EVENT_DEFAULT));
  OK(cu().cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING));
  float ms = -1;
  EXPECT_EQ(cu().cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_INVALID_HANDLE);
  OK(cu().cuEventRecord(begin, stream_));
  OK(cu().cuLaunchHostFunc(
      stream_, [](void*) { usleep(3000); }, nullptr));
  OK(cu().cuEventRecord(end, stream_));
  OK(cu().cuEventRecord(silent, stream_));
  OK(cu().cuEventSynchronize(end));
  OK(cu().cuEventElapsedTime(&ms, begin, end));
  EXPECT_GE(ms, 2.9f);
  EXPECT_EQ(cu().cuEventElapsedTime(&ms, begin, silent), CUDA_ERROR_INVALID_HANDLE);
  for (CUevent event : {begin, end, silent}) OK(cu().cuEventDestroy_v2(event));
}

TEST_F(Streams, EventsForOthersWantNoTiming) {
  CUevent event = nullptr;
  EXPECT_EQ(cu().cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  OK(cu().cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  OK(cu().cuEventDestroy_v2(event));
  OK(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle;
  EXPECT_NE(cu().cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
  OK(cu().cuEventDestroy_v2(event));
}

TEST_F(Streams, HostFunctionsMayNotCallTheDriver) {
  CUresult result = CUDA_SUCCESS;
  OK(cu().cuLaunchHostFunc(
      stream_,
      [](void* where) {
        CUdeviceptr address = 0;
        *static_cast<CUresult*>(where) = cu().cuMemAlloc_v2(&address, 64);
      },
      &result));
  OK(cu().cuStreamSynchronize(stream_));
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(Streams, StreamsWaitForWordsAndWriteThem) {
  if (cu().cuStreamWaitValue32_v2 == nullptr) GTEST_SKIP() << "an old driver";
  const CUdeviceptr word = allocate(8);
  CUstream other = nullptr;
  OK(cu().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  fill(word, 0, 8);
  OK(cu().cuStreamWaitValue32_v2(other, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cu().cuStreamWriteValue32_v2(stream_, word, 4, 0));
  OK(cu().cuStreamSynchronize(stream_));
  EXPECT_EQ(cu().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  CUstreamBatchMemOpParams writes[1] = {};
  writes[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {5}, 0, 0};
  OK(cu().cuStreamBatchMemOp_v2(stream_, 1, writes, 0));
  OK(cu().cuStreamSynchronize(other));
  OK(cu().cuStreamDestroy_v2(other));
  EXPECT_NE(cu().cuStreamWriteValue32_v2(stream_, word + 2, 1, 0), CUDA_SUCCESS);
}

TEST_F(Streams, WithoutAContextThereIsNothing) {
  OK(cu().cuCtxPushCurrent_v2(context_));
  OK(cu().cuCtxSetCurrent(nullptr));
  CUcontext current = context_;
  OK(cu().cuCtxGetCurrent(&current));
  CUdeviceptr address = 0;
  if (current == nullptr) {
    EXPECT_EQ(cu().cuMemAlloc_v2(&address, 64), CUDA_ERROR_INVALID_CONTEXT);
  }
  std::thread([&] {
    EXPECT_EQ(cu().cuMemAlloc_v2(&address, 64), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cu().cuCtxPopCurrent_v2(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  OK(cu().cuCtxSetCurrent(context_));
}

TEST_F(Streams, AContextOfOnesOwnIsAnother) {
  const CUdeviceptr address = allocate(64);
  CUcontext mine = nullptr;
  OK(cu().cuCtxCreate_v2(&mine, 0, 0));
  CUdeviceptr other = 0;
  OK(cu().cuMemAlloc_v2(&other, 64));
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, other), mine);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, address), context_);
  CUevent event = nullptr;
  OK(cu().cuEventCreate(&event, 0));
  EXPECT_NE(cu().cuEventRecord(event, stream_), CUDA_SUCCESS);
  OK(cu().cuEventDestroy_v2(event));
  OK(cu().cuCtxDestroy_v2(mine));
  CUcontext current = nullptr;
  OK(cu().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
}

TEST(Process, AChildOfForkHasNoDriver) {
  (void)cu();
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(cu().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, AContextThatWasResetComesBackAsAnother) {
  CUcontext before = nullptr, after = nullptr;
  unsigned long long first = 0, second = 0;
  OK(cu().cuDevicePrimaryCtxRetain(&before, 0));
  OK(cu().cuCtxGetId(before, &first));
  OK(cu().cuDevicePrimaryCtxReset_v2(0));
  unsigned flags = 0;
  int active = 1;
  OK(cu().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  OK(cu().cuDevicePrimaryCtxRetain(&after, 0));
  OK(cu().cuCtxGetId(after, &second));
  EXPECT_NE(first, second);
  OK(cu().cuDevicePrimaryCtxRelease_v2(0));
}

TEST(Process, DevicesSayWhoTheyAre) {
  int count = 0;
  OK(cu().cuDeviceGetCount(&count));
  for (int i = 0; i < count; ++i) {
    CUuuid uuid, other;
    OK(cu().cuDeviceGetUuid_v2(&uuid, i));
    OK(cu().cuDeviceGetUuid_v2(&other, 0));
    EXPECT_EQ(memcmp(&uuid, &other, sizeof uuid) == 0, i == 0);
    int access = 7;
    OK(cu().cuDeviceCanAccessPeer(&access, i, i));
    EXPECT_EQ(access, 0);
  }
  CUdevice device = 0;
  EXPECT_EQ(cu().cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
}

TEST(Process, PeersCopyWhetherOrNotTheyReachEachOther) {
  int count = 0;
  OK(cu().cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device";
  CUcontext contexts[2];
  CUdeviceptr memory[2];
  for (int i = 0; i < 2; ++i) {
    OK(cu().cuDevicePrimaryCtxRetain(&contexts[i], i));
    OK(cu().cuCtxSetCurrent(contexts[i]));
    OK(cu().cuMemAlloc_v2(&memory[i], 4096));
    OK(cu().cuMemsetD8Async(memory[i], static_cast<unsigned char>(i + 1), 4096, nullptr));
    OK(cu().cuCtxSynchronize());
  }
  int access = 0;
  OK(cu().cuDeviceCanAccessPeer(&access, 1, 0));
  EXPECT_EQ(cu().cuCtxEnablePeerAccess(contexts[0], 0),
            access ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  if (access) {
    EXPECT_EQ(cu().cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  }
  OK(cu().cuMemcpyPeerAsync(memory[0], contexts[0], memory[1], contexts[1], 4096, nullptr));
  unsigned char got[4096] = {};
  OK(cu().cuMemcpyDtoH_v2(got, memory[0], sizeof got));
  EXPECT_EQ(got[4095], 2);
  for (int i = 0; i < 2; ++i) {
    OK(cu().cuCtxSetCurrent(contexts[i]));
    OK(cu().cuMemFree_v2(memory[i]));
    OK(cu().cuDevicePrimaryCtxRelease_v2(i));
  }
  OK(cu().cuCtxSetCurrent(nullptr));
}

}  // namespace
}  // namespace driver_test
