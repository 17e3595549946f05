// SPDX-License-Identifier: Apache-2.0
// A stream engine's operations, captured and launched repeatedly, and objects kept alive by a
// graph.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "driver.hpp"

namespace driver_test {
namespace {

class Graphs : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    OK(cu().cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    for (CUevent* event : {&forked_, &joined_})
      OK(cu().cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(cu().cuGraphExecDestroy(exec_), CUDA_SUCCESS);
    }
    EXPECT_EQ(cu().cuEventDestroy_v2(forked_), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuEventDestroy_v2(joined_), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuStreamDestroy_v2(other_), CUDA_SUCCESS);
    Gpu::TearDown();
  }
  void begin() { OK(cu().cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); }
  void fork() {
    OK(cu().cuEventRecord(forked_, stream_));
    OK(cu().cuStreamWaitEvent(other_, forked_, 0));
  }
  void join() {
    OK(cu().cuEventRecord(joined_, other_));
    OK(cu().cuStreamWaitEvent(stream_, joined_, 0));
  }
  void end() {
    CUgraph graph = nullptr;
    OK(cu().cuStreamEndCapture(stream_, &graph));
    OK(cu().cuGraphInstantiateWithFlags(&exec_, graph, 0));
    OK(cu().cuGraphDestroy(graph));
  }
  void launch() { OK(cu().cuGraphLaunch(exec_, stream_)); }
  CUgraph graph_of_capture() {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    CUgraph graph = nullptr;
    EXPECT_EQ(cu().cuStreamGetCaptureInfo_v2(stream_, &status, &id, &graph, nullptr, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return graph;
  }
  uint32_t word_at(CUdeviceptr address) {
    const std::vector<unsigned char> bytes = bytes_at(address, sizeof(uint32_t));
    uint32_t word = 0;
    memcpy(&word, bytes.data(), sizeof word);
    return word;
  }
  CUstream other_ = nullptr;
  CUevent forked_ = nullptr, joined_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

TEST_F(Graphs, ForkedStreamsMeetAtEachLaunch) {
  constexpr size_t kBytes = 4096;
  const CUdeviceptr from = allocate(kBytes), left = allocate(kBytes), right = allocate(kBytes),
                    both = allocate(2 * kBytes);
  begin();
  OK(cu().cuMemsetD8Async(both, 0, 2 * kBytes, stream_));
  fork();
  OK(cu().cuMemcpyDtoDAsync_v2(left, from, kBytes, stream_));
  OK(cu().cuMemcpyDtoDAsync_v2(both, left, kBytes, stream_));
  OK(cu().cuMemcpyDtoDAsync_v2(right, from, kBytes, other_));
  OK(cu().cuMemcpyDtoDAsync_v2(both + kBytes, right, kBytes, other_));
  join();
  OK(cu().cuMemcpyDtoDAsync_v2(from, both + kBytes / 2, kBytes, stream_));
  end();
  for (unsigned char value = 1; value <= 20; ++value) {
    fill(from, value, kBytes);
    launch();
    EXPECT_EQ(bytes_at(both, 2 * kBytes), std::vector<unsigned char>(2 * kBytes, value));
    EXPECT_EQ(bytes_at(from, kBytes), std::vector<unsigned char>(kBytes, value));
  }
}

TEST_F(Graphs, WordsAreWaitedForAndResetAtEachLaunch) {
  const CUdeviceptr word = allocate(8), value = allocate(64), copy = allocate(64);
  fill(word, 0, 8);
  begin();
  CUstreamBatchMemOpParams batch[3] = {};
  batch[0].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, word, {1}, CU_STREAM_WAIT_VALUE_EQ, 0};
  batch[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {0}, 0, 0};
  batch[2].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word + 4, {7}, 0, 0};
  OK(cu().cuStreamBatchMemOp_v2(stream_, 3, batch, 0));
  OK(cu().cuMemcpyDtoDAsync_v2(copy, value, 64, stream_));
  end();
  CUstream third = nullptr;
  OK(cu().cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  for (unsigned char turn = 1; turn <= 20; ++turn) {
    launch();
    OK(cu().cuMemsetD8Async(value, turn, 64, third));
    EXPECT_EQ(cu().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
    OK(cu().cuStreamWriteValue32_v2(third, word, 1, 0));
    EXPECT_EQ(bytes_at(copy, 64), std::vector<unsigned char>(64, turn));
    EXPECT_EQ(word_at(word), 0u);
    EXPECT_EQ(word_at(word + 4), 7u);
  }
  OK(cu().cuStreamDestroy_v2(third));
}

TEST_F(Graphs, ABranchWaitsForAWordOfAnother) {
  const CUdeviceptr word = allocate(4);
  begin();
  OK(cu().cuStreamWriteValue32_v2(stream_, word, 0, 0));
  fork();
  OK(cu().cuStreamWriteValue32_v2(other_, word, 1, 0));
  OK(cu().cuStreamWaitValue32_v2(stream_, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  join();
  end();
  for (int turn = 0; turn < 20; ++turn) {
    launch();
    OK(cu().cuStreamSynchronize(stream_));
  }
}

TEST_F(Graphs, LaunchesOfOneAreInOrder) {
  const CUdeviceptr count = allocate(4), next = allocate(4);
  fill(count, 0, 4);
  begin();
  for (int i = 0; i < 8; ++i) {
    OK(cu().cuMemcpyDtoDAsync_v2(next, count, 4, stream_));
    OK(cu().cuMemcpyDtoDAsync_v2(count, next, 4, stream_));
  }
  OK(cu().cuMemsetD8Async(count, 9, 1, stream_));
  end();
  for (int turn = 0; turn < 5; ++turn) {
    launch();
    OK(cu().cuGraphLaunch(exec_, other_));
  }
  OK(cu().cuStreamSynchronize(other_));
  EXPECT_EQ(word_at(count), 9u);
}

TEST_F(Graphs, WhatHoldsAnObjectKeepsIt) {
  std::atomic<int> ended{0};
  CUuserObject object = nullptr;
  const auto destroy = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  const auto create = [&](unsigned count, unsigned flags) {
    return cu().cuUserObjectCreate(&object, &ended, destroy, count, flags);
  };
  EXPECT_EQ(create(0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(1, 0), CUDA_ERROR_INVALID_VALUE);
  OK(create(1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  OK(cu().cuUserObjectRetain(object, 2));
  OK(cu().cuUserObjectRelease(object, 2));
  const CUdeviceptr word = allocate(4);
  fill(word, 0, 4);
  begin();
  OK(cu().cuStreamWaitValue32_v2(stream_, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  const CUgraph graph = graph_of_capture();
  ASSERT_NE(graph, nullptr);
  OK(cu().cuGraphRetainUserObject(graph, object, 2, 0));
  OK(cu().cuGraphReleaseUserObject(graph, object, 2));
  EXPECT_EQ(cu().cuGraphReleaseUserObject(graph, object, 1), CUDA_ERROR_INVALID_VALUE);
  OK(cu().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  end();
  launch();
  OK(cu().cuGraphExecDestroy(exec_));
  exec_ = nullptr;
  usleep(20'000);
  EXPECT_EQ(ended, 0) << "a launch is under way";
  OK(cu().cuStreamWriteValue32_v2(other_, word, 1, 0));
  OK(cu().cuStreamSynchronize(stream_));
  for (int tries = 0; tries < 5000 && ended == 0; ++tries) usleep(1000);
  EXPECT_EQ(ended, 1);
}

TEST_F(Graphs, ACaptureThatFailsLetsItsObjectsGo) {
  std::atomic<int> ended{0};
  CUuserObject object = nullptr;
  OK(cu().cuUserObjectCreate(
      &object, &ended, [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  begin();
  OK(cu().cuGraphRetainUserObject(graph_of_capture(), object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  EXPECT_EQ(cu().cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu().cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  for (int tries = 0; tries < 5000 && ended == 0; ++tries) usleep(1000);
  EXPECT_EQ(ended, 1);
}

// The result on real drivers is undocumented.
TEST_F(Graphs, DestructorsMayNotCallTheDriver) {
  if (!cu().is_soft) GTEST_SKIP() << "software driver only";
  std::atomic<int> result{-1};
  CUuserObject object = nullptr;
  OK(cu().cuUserObjectCreate(
      &object, &result,
      [](void* where) {
        CUcontext current = nullptr;
        *static_cast<std::atomic<int>*>(where) = cu().cuCtxGetCurrent(&current);
      },
      1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  OK(cu().cuUserObjectRelease(object, 1));
  for (int tries = 0; tries < 5000 && result < 0; ++tries) usleep(1000);
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(Graphs, AGraphInAGraph) {
  const CUdeviceptr from = allocate(64), to = allocate(64), end_of_line = allocate(64);
  begin();
  fork();
  OK(cu().cuMemcpyDtoDAsync_v2(to, from, 64, other_));
  join();
  end();
  const CUgraphExec child = exec_;
  begin();
  OK(cu().cuMemsetD8Async(from, 3, 64, stream_));
  OK(cu().cuGraphLaunch(child, stream_));
  OK(cu().cuMemcpyDtoDAsync_v2(end_of_line, to, 64, stream_));
  end();
  OK(cu().cuGraphExecDestroy(child));
  for (int turn = 0; turn < 10; ++turn) {
    fill(end_of_line, 0, 64);
    launch();
    EXPECT_EQ(bytes_at(end_of_line, 64), std::vector<unsigned char>(64, 3));
  }
}

class Words : public Gpu {};

TEST_F(Words, ABatchTakes255) {
  const CUdeviceptr words = allocate(4 * 256);
  fill(words, 0, 4 * 256);
  std::vector<CUstreamBatchMemOpParams> batch(256);
  for (unsigned i = 0; i < 256; ++i)
    batch[i].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, words + 4 * i, {1}, 0, 0};
  EXPECT_EQ(cu().cuStreamBatchMemOp_v2(stream_, 256, batch.data(), 0), CUDA_ERROR_INVALID_VALUE);
  OK(cu().cuStreamBatchMemOp_v2(stream_, 255, batch.data(), 0));
  const std::vector<unsigned char> got = bytes_at(words, 4 * 256);
  EXPECT_EQ(got[4 * 254], 1);
  EXPECT_EQ(got[4 * 255], 0);
}

TEST_F(Words, AreOnesOwnOrPinned) {
  void* pinned = nullptr;
  CUdeviceptr managed = 0;
  OK(cu().cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_PORTABLE));
  OK(cu().cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  const auto word = reinterpret_cast<CUdeviceptr>(pinned);
  OK(cu().cuStreamWriteValue32_v2(stream_, word, 5, 0));
  OK(cu().cuStreamWaitValue32_v2(stream_, word, 5, CU_STREAM_WAIT_VALUE_EQ));
  OK(cu().cuStreamSynchronize(stream_));
  EXPECT_EQ(*static_cast<uint32_t*>(pinned), 5u);
  static uint32_t pageable = 0;
  for (const CUdeviceptr wrong : {managed, reinterpret_cast<CUdeviceptr>(&pageable), word + 2}) {
    EXPECT_NE(cu().cuStreamWaitValue32_v2(stream_, wrong, 0, 0), CUDA_SUCCESS);
    EXPECT_NE(cu().cuStreamWriteValue32_v2(stream_, wrong, 0, 0), CUDA_SUCCESS);
  }
  OK(cu().cuMemFree_v2(managed));
  OK(cu().cuMemFreeHost(pinned));
}

TEST_F(Words, OfPeersAreNotWaitedForAndNoLongerWritten) {
  int devices = 0, reach = 0, version = 0;
  OK(cu().cuDriverGetVersion(&version));
  OK(cu().cuDeviceGetCount(&devices));
  if (devices > 1) {
    OK(cu().cuDeviceCanAccessPeer(&reach, 0, 1));
  }
  if (reach == 0) GTEST_SKIP() << "needs two linked devices";
  CUcontext peer = nullptr;
  CUdeviceptr word = 0;
  OK(cu().cuDevicePrimaryCtxRetain(&peer, 1));
  OK(cu().cuCtxPushCurrent_v2(peer));
  OK(cu().cuMemAlloc_v2(&word, 64));
  OK(cu().cuCtxPopCurrent_v2(nullptr));
  const CUresult enabled = cu().cuCtxEnablePeerAccess(peer, 0);
  EXPECT_TRUE(enabled == CUDA_SUCCESS || enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  OK(cu().cuMemsetD8Async(word, 0, 64, stream_));
  const CUresult written = cu().cuStreamWriteValue32_v2(stream_, word, 1, 0);
  if (version >= 13010) {
    EXPECT_NE(written, CUDA_SUCCESS);
  } else {
    EXPECT_EQ(written, CUDA_SUCCESS);
  }
  if (cu().is_soft) {
    EXPECT_EQ(cu().cuStreamWaitValue32_v2(stream_, word, 0, 0), CUDA_ERROR_INVALID_VALUE);
  }
  OK(cu().cuStreamSynchronize(stream_));
  OK(cu().cuCtxPushCurrent_v2(peer));
  OK(cu().cuMemFree_v2(word));
  OK(cu().cuCtxPopCurrent_v2(nullptr));
  OK(cu().cuDevicePrimaryCtxRelease_v2(1));
}

TEST_F(Words, DevicesSayWhatTheyCan) {
  int wide = -1, nor = -1, flush = -1;
  OK(cu().cuDeviceGetAttribute(&wide, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
  OK(cu().cuDeviceGetAttribute(&nor, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
  OK(cu().cuDeviceGetAttribute(&flush, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
  const CUdeviceptr word = allocate(8);
  fill(word, 0, 8);
  const unsigned flags = CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH;
  EXPECT_EQ(cu().cuStreamWaitValue32_v2(stream_, word, 0, flags),
            flush ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
  if (wide) {
    OK(cu().cuStreamWriteValue64_v2(stream_, word, uint64_t{1} << 40, 0));
    OK(cu().cuStreamWaitValue64_v2(stream_, word, uint64_t{1} << 40, CU_STREAM_WAIT_VALUE_EQ));
  }
  if (nor) {
    OK(cu().cuStreamWaitValue32_v2(stream_, word + 4, 0, CU_STREAM_WAIT_VALUE_NOR));
  }
  OK(cu().cuStreamSynchronize(stream_));
}

}  // namespace
}  // namespace driver_test
