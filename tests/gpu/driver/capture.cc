// SPDX-License-Identifier: Apache-2.0
// Stream capture: the permitted calls, and the errors of the others.
#include "driver.hpp"

#include <thread>

namespace driver_test {
namespace {

class Captures : public Gpu {
 protected:
  CUresult begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return cu().cuStreamBeginCapture_v2(stream_, mode);
  }
  CUresult end() {
    const CUresult result = cu().cuStreamEndCapture(stream_, &graph_);
    if (graph_ != nullptr) {
      EXPECT_EQ(cu().cuGraphDestroy(graph_), CUDA_SUCCESS);
    }
    return result;
  }
  CUgraph graph_ = nullptr;
};

TEST_F(Captures, AGraphDoesItAgain) {
  const CUdeviceptr from = allocate(4096), to = allocate(4096);
  OK(begin());
  OK(cu().cuMemcpyDtoDAsync_v2(to, from, 4096, stream_));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  OK(cu().cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(cu().cuStreamEndCapture(stream_, &graph_));
  CUgraphExec exec = nullptr;
  OK(cu().cuGraphInstantiateWithFlags(&exec, graph_, 0));
  OK(cu().cuGraphDestroy(graph_));
  for (const unsigned char value : {'a', 'b'}) {
    fill(from, value, 4096);
    OK(cu().cuGraphLaunch(exec, stream_));
    EXPECT_EQ(bytes_at(to, 4096), std::vector<unsigned char>(4096, value));
  }
  OK(cu().cuGraphExecDestroy(exec));
}

TEST_F(Captures, WhatWaitsBreaksThem) {
  OK(begin());
  EXPECT_EQ(cu().cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph_, nullptr);
  OK(begin());
  EXPECT_EQ(cu().cuStreamQuery(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, UnsafeCallsDependOnTheMode) {
  CUdeviceptr address = 0;
  OK(begin(CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(begin(CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cu().cuMemAlloc_v2(&address, 64));
  OK(cu().cuMemFree_v2(address));
  OK(end());
  // A library may call the driver during a capture if the library exchanges the thread's capture
  // mode.
  OK(begin(CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cu().cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  OK(cu().cuMemAlloc_v2(&address, 64));
  OK(cu().cuThreadExchangeStreamCaptureMode(&mode));
  OK(end());
  OK(cu().cuMemFree_v2(address));
}

TEST_F(Captures, OtherThreadsSufferFromGlobalOnesOnly) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    OK(begin(mode));
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      CUdeviceptr address = 0;
      ASSERT_EQ(cu().cuCtxSetCurrent(context_), CUDA_SUCCESS);
      result = cu().cuMemAlloc_v2(&address, 64);
      if (result == CUDA_SUCCESS) cu().cuMemFree_v2(address);
    }).join();
    const bool global = mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_EQ(result, global ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
    EXPECT_EQ(end(), global ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
  }
}

TEST_F(Captures, StreamsForkAndJoin) {
  CUstream other = nullptr;
  CUevent forked = nullptr, joined = nullptr;
  OK(cu().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  OK(cu().cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
  OK(cu().cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr address = allocate(64);
  for (const bool joins : {true, false}) {
    OK(begin());
    OK(cu().cuEventRecord(forked, stream_));
    OK(cu().cuStreamWaitEvent(other, forked, 0));
    OK(cu().cuMemsetD8Async(address, 1, 64, other));
    if (joins) {
      OK(cu().cuEventRecord(joined, other));
      OK(cu().cuStreamWaitEvent(stream_, joined, 0));
    }
    EXPECT_EQ(end(), joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
  OK(cu().cuEventDestroy_v2(forked));
  OK(cu().cuEventDestroy_v2(joined));
  OK(cu().cuStreamDestroy_v2(other));
}

TEST_F(Captures, EventsInsideAndOutsideDoNotMix) {
  CUevent event = nullptr;
  OK(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cu().cuEventRecord(event, CU_STREAM_PER_THREAD));
  OK(begin(CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cu().cuStreamWaitEvent(stream_, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(begin(CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cu().cuEventRecord(event, stream_));
  EXPECT_EQ(cu().cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(cu().cuEventDestroy_v2(event));
}

TEST_F(Captures, TheLegacyStreamDoesNotDependOnThem) {
  CUstream blocking = nullptr;
  OK(cu().cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  const CUdeviceptr address = allocate(64);
  OK(cu().cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cu().cuMemsetD8Async(address, 1, 64, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu().cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(cu().cuStreamDestroy_v2(blocking));
  EXPECT_EQ(cu().cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(Captures, TheLegacyStreamCanBeAskedAboutThem) {
  CUstream blocking = nullptr;
  OK(cu().cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  OK(cu().cuStreamIsCapturing(CU_STREAM_LEGACY, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  OK(cu().cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cu().cuStreamIsCapturing(CU_STREAM_LEGACY, &status),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  OK(cu().cuStreamEndCapture(blocking, &graph));
  OK(cu().cuGraphDestroy(graph));
  OK(cu().cuStreamDestroy_v2(blocking));
}

}  // namespace
}  // namespace driver_test
