// SPDX-License-Identifier: Apache-2.0
// Kernels: graphs, load times, calls with a wait for kernels, and shared hardware queues.
#include "kernels.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace driver_test {
namespace {

// PTX of tests/softcuda/shim/test_kernels.cu. Parameters: {semaphore address, value}.
const char* const kPtx = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .entry test_store(.param .align 8 .b8 given[16]) {
  .reg .b64 %a; .reg .b32 %v;
  ld.param.u64 %a, [given]; ld.param.u32 %v, [given+8];
  cvta.to.global.u64 %a, %a;
  st.volatile.global.u32 [%a], %v;
  ret;
}
.visible .entry test_spin(.param .align 8 .b8 given[16]) {
  .reg .b64 %a; .reg .b32 %v, %w; .reg .pred %p;
  ld.param.u64 %a, [given]; ld.param.u32 %v, [given+8];
  cvta.to.global.u64 %a, %a;
again:
  ld.volatile.global.u32 %w, [%a];
  setp.ne.u32 %p, %w, %v;
  @%p bra again;
  ret;
}
.visible .entry test_meet(.param .align 8 .b8 given[16]) {
  .reg .b64 %a; .reg .b32 %v, %w, %t; .reg .pred %p;
  ld.param.u64 %a, [given]; ld.param.u32 %v, [given+8];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p bra meet;
  atom.global.add.u32 %w, [%a], 1;
again:
  ld.volatile.global.u32 %w, [%a];
  setp.lt.u32 %p, %w, %v;
  @%p bra again;
meet:
  bar.sync 0;
  ret;
}
.visible .entry test_publish(.param .align 8 .b8 given[32]) {
  .reg .b64 %a, %f; .reg .b32 %v, %i; .reg .pred %p;
  ld.param.u64 %a, [given]; ld.param.u64 %f, [given+8]; ld.param.u32 %v, [given+24];
  cvta.to.global.u64 %a, %a; cvta.to.global.u64 %f, %f;
  mov.u32 %i, 16;
again:
  st.global.v4.u32 [%a], {%v, %v, %v, %v};
  add.u64 %a, %a, 16;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra again;
  st.release.sys.global.u32 [%f], %v;
  ret;
}
.visible .entry test_read(.param .align 8 .b8 given[32]) {
  .reg .b64 %a, %f, %r; .reg .b32 %v, %i, %w, %n; .reg .pred %p;
  ld.param.u64 %a, [given]; ld.param.u64 %f, [given+8]; ld.param.u64 %r, [given+16];
  ld.param.u32 %v, [given+24];
  cvta.to.global.u64 %a, %a; cvta.to.global.u64 %f, %f; cvta.to.global.u64 %r, %r;
again:
  ld.acquire.sys.global.u32 %w, [%f];
  setp.ne.u32 %p, %w, %v;
  @%p bra again;
  mov.u32 %i, 64; mov.u32 %n, 0;
next:
  ld.global.u32 %w, [%a];
  setp.ne.u32 %p, %w, %v;
  @%p add.u32 %n, %n, 1;
  add.u64 %a, %a, 4;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra next;
  atom.global.add.u32 %w, [%r], %n;
  ret;
}
)";

bool is_on(const char* variable) {
  const char* const value = getenv(variable);
  return value != nullptr && strcmp(value, "on") == 0;
}

}  // namespace

TestKernels::TestKernels() {
  EXPECT_EQ(cu().cuLibraryLoadData(&library_, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_SUCCESS);
}
TestKernels::~TestKernels() { EXPECT_EQ(cu().cuLibraryUnload(library_), CUDA_SUCCESS); }

CUfunction TestKernels::find(const char* name) {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(cu().cuLibraryGetKernel(&kernel, library_, name), CUDA_SUCCESS) << name;
  EXPECT_EQ(cu().cuKernelGetFunction(&function, kernel), CUDA_SUCCESS) << name;
  return function;
}

CUresult TestKernels::launch(const char* name, CUstream stream, CUdeviceptr word, uint32_t value,
                             unsigned blocks, unsigned threads) {
  tern::softcuda::WordArguments arguments{reinterpret_cast<uint32_t*>(word), value};
  void* parameters[] = {&arguments};
  return cu().cuLaunchKernel(find(name), blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
                             nullptr);
}

void KernelTest::SetUp() {
  if (cu().is_soft && getenv("SOFTCUDA_KERNELS") == nullptr) GTEST_SKIP() << "no kernels";
  Gpu::SetUp();
  OK(cu().cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
}

void KernelTest::TearDown() {
  if (other_ == nullptr) return;
  EXPECT_EQ(cu().cuStreamDestroy_v2(other_), CUDA_SUCCESS);
  Gpu::TearDown();
}

namespace {

class KernelsRun : public KernelTest {
 protected:
  void close_gate(CUstream stream) {
    gate_ = allocate(4);
    fill(gate_, 0, 4);
    OK(cu().cuStreamWaitValue32_v2(stream, gate_, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void open_gate() {
    OK(cu().cuMemsetD32Async(gate_, 1, 1, other_));
    OK(cu().cuStreamSynchronize(other_));
  }
  // A real driver's call may wait for the context's work; the software driver's answer is known.
  void expect_wait(const char* what, const std::function<void()>& call) {
    close_gate(stream_);
    std::atomic<bool> done{false};
    std::thread caller([&] {
      EXPECT_EQ(cu().cuCtxSetCurrent(context_), CUDA_SUCCESS);
      call();
      done = true;
    });
    usleep(20'000);
    if (cu().is_soft && is_on("SOFTCUDA_WAITS")) {
      EXPECT_FALSE(done) << what;
    }
    open_gate();
    caller.join();
    OK(cu().cuStreamSynchronize(stream_));
  }
  CUdeviceptr gate_ = 0;
};

TEST_F(KernelsRun, CapturedOnesRunAtEachLaunch) {
  TestKernels kernels;
  const CUdeviceptr word = allocate(4), copy = allocate(4);
  fill(word, 0, 4);
  fill(copy, 0, 4);
  OK(kernels.launch("test_store", stream_, word, 0));
  OK(kernels.launch("test_meet", stream_, word, 1));
  OK(cu().cuStreamSynchronize(stream_));
  OK(cu().cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(kernels.launch("test_store", stream_, word, 5));
  OK(kernels.launch("test_meet", stream_, word, 6));
  OK(cu().cuMemcpyDtoDAsync_v2(copy, word, 4, stream_));
  OK(kernels.launch("test_store", stream_, word, 7));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cu().cuStreamEndCapture(stream_, &graph));
  OK(cu().cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cu().cuGraphDestroy(graph));
  for (int turn = 0; turn < 10; ++turn) {
    fill(copy, 0, 4);
    OK(cu().cuGraphLaunch(exec, stream_));
    EXPECT_EQ(bytes_at(copy, 1)[0], 6);
    EXPECT_EQ(bytes_at(word, 1)[0], 7);
  }
  OK(cu().cuGraphExecDestroy(exec));
}

TEST_F(KernelsRun, WhatAllocatesMayWaitForAllWork) {
  CUdeviceptr address = 0;
  void* pinned = nullptr;
  alignas(4096) static char pages[4096];
  expect_wait("cuMemAlloc", [&] { OK(cu().cuMemAlloc_v2(&address, 64)); });
  expect_wait("cuMemFree", [&] { OK(cu().cuMemFree_v2(address)); });
  expect_wait("cuMemHostAlloc", [&] { OK(cu().cuMemHostAlloc(&pinned, 64, 0)); });
  expect_wait("cuMemFreeHost", [&] { OK(cu().cuMemFreeHost(pinned)); });
  expect_wait("cuMemHostRegister", [&] { OK(cu().cuMemHostRegister_v2(pages, sizeof pages, 0)); });
  expect_wait("cuMemHostUnregister", [&] { OK(cu().cuMemHostUnregister(pages)); });
}

TEST_F(KernelsRun, AKernelIsLoadedAtItsFirstLaunch) {
  if (cu().cuFuncLoad == nullptr) GTEST_SKIP() << "a driver before CUDA 12.4";
  TestKernels kernels;
  const CUdeviceptr word = allocate(4);
  const CUfunction eager = kernels.find("test_store"), lazy = kernels.find("test_spin");
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
  OK(cu().cuFuncLoad(eager));
  OK(cu().cuFuncIsLoaded(&state, eager));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  close_gate(stream_);
  OK(kernels.launch("test_store", other_, word, 3));
  OK(cu().cuStreamSynchronize(other_));
  EXPECT_EQ(cu().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  open_gate();
  OK(cu().cuStreamSynchronize(stream_));
  const char* const mode = getenv("CUDA_MODULE_LOADING");
  if (mode != nullptr && strcmp(mode, "EAGER") == 0) return;
  OK(cu().cuFuncIsLoaded(&state, lazy));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
  expect_wait("cuLaunchKernel", [&] { OK(kernels.launch("test_spin", other_, word, 3)); });
  OK(cu().cuFuncIsLoaded(&state, lazy));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
}

int impatient_peer(int socket) {
  setenv("SOFTCUDA_PATIENCE", "1", 1);
  setenv("SOFTCUDA_WAITS", "on", 1);
  const CUstream stream = begin_peer();
  CUdeviceptr word = 0, more = 0;
  MUST(cu().cuMemAlloc_v2(&word, 64));
  MUST(cu().cuMemsetD32Async(word, 0, 1, stream));
  MUST(cu().cuStreamWaitValue32_v2(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  CUcontext context = nullptr;
  MUST(cu().cuCtxGetCurrent(&context));
  std::thread opener([&] {
    usleep(2'500'000);
    CUstream late = nullptr;
    MUST(cu().cuCtxSetCurrent(context));
    MUST(cu().cuStreamCreate(&late, CU_STREAM_NON_BLOCKING));
    MUST(cu().cuStreamWriteValue32_v2(late, word, 1, 0));
  });
  dup2(socket, STDERR_FILENO);
  MUST(cu().cuMemAlloc_v2(&more, 64));
  opener.join();
  close(socket);
  close(STDERR_FILENO);
  return 0;
}
const Role kImpatient("impatient", impatient_peer);

TEST_F(KernelsRun, AWaitThatLastsSaysForWhat) {
  if (!cu().is_soft) GTEST_SKIP() << "software driver only";
  Peer peer("impatient");
  const std::string said = words_of(peer);
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_NE(said.find("cuMemAlloc_v2 waits for 1 s: stream"), std::string::npos) << said;
  EXPECT_NE(said.find("busy with a wait for a word"), std::string::npos) << said;
}

int narrow_peer(int) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("SOFTCUDA_CONNECTIONS", "1", 1);
  setenv("SOFTCUDA_QUEUE", "8", 1);
  const CUstream stream = begin_peer();
  CUstream other = nullptr;
  CUdeviceptr memory = 0;
  CUcontext context = nullptr;
  void* pinned = nullptr;
  MUST(cu().cuCtxGetCurrent(&context));
  MUST(cu().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cu().cuMemAlloc_v2(&memory, 64));
  MUST(cu().cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_PORTABLE));
  auto* const word = static_cast<std::atomic<uint32_t>*>(pinned);
  const auto gate = reinterpret_cast<CUdeviceptr>(pinned);
  *word = 0;
  MUST(cu().cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
  MUST(cu().cuMemsetD8Async(memory, 1, 64, other));
  usleep(50'000);
  if (cu().is_soft && cu().cuStreamQuery(other) != CUDA_ERROR_NOT_READY) return 2;
  std::atomic<int> queued{0};
  std::thread fast([&] {
    MUST(cu().cuCtxSetCurrent(context));
    for (; queued < 64; ++queued) MUST(cu().cuMemsetD8Async(memory, 1, 64, stream));
  });
  for (int i = 0; i < 500 && queued < 8; ++i) usleep(10'000);
  usleep(50'000);
  if (cu().is_soft && (queued < 8 || queued > 9)) return 3;
  *word = 1;
  fast.join();
  MUST(cu().cuStreamSynchronize(other));
  MUST(cu().cuStreamSynchronize(stream));
  return queued == 64 ? 0 : 4;
}
const Role kNarrow("narrow", narrow_peer);

TEST_F(KernelsRun, StreamsMayShareAQueueThatFillsUp) {
  Peer peer("narrow");
  EXPECT_EQ(peer.wait(), 0);
}

}  // namespace
}  // namespace driver_test
