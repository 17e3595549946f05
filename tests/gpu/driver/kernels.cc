// SPDX-License-Identifier: Apache-2.0
// Kernels: when they are loaded, how many blocks are resident, and who runs beside whom.
#include "kernels.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace driver_test {
namespace {

// Each takes {address of a word, value}: tests/softcuda/shim/test_kernels.cu in PTX.
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

namespace {

class KernelsRun : public Gpu {
 protected:
  void SetUp() override {
    if (cu().is_soft && getenv("SOFTCUDA_KERNELS") == nullptr) GTEST_SKIP() << "no kernels";
    Gpu::SetUp();
    OK(cu().cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    if (other_ == nullptr) return;
    EXPECT_EQ(cu().cuStreamDestroy_v2(other_), CUDA_SUCCESS);
    Gpu::TearDown();
  }
  // Stands in the stream until open() is called.
  void close_gate(CUstream stream) {
    gate_ = allocate(4);
    fill(gate_, 0, 4);
    OK(cu().cuStreamWaitValue32_v2(stream, gate_, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void open_gate() {
    OK(cu().cuMemsetD32Async(gate_, 1, 1, other_));
    OK(cu().cuStreamSynchronize(other_));
  }
  // A call that may wait for all work of the context, in a thread of its own: it ends when that
  // does. Of the software driver we know whether it waits.
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
  CUstream other_ = nullptr;
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
  OK(kernels.launch("test_store", other_, word, 3));  // does not wait for what is not its business
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

// All that another process says until it ends.
std::string words_of(Peer& peer) {
  std::string text;
  char part[512];
  for (ssize_t got; (got = read(peer.socket, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(got));
  return text;
}

TEST_F(KernelsRun, AWaitThatLastsSaysForWhat) {
  if (!cu().is_soft) GTEST_SKIP() << "of the software driver";
  Peer peer("impatient");
  const std::string said = words_of(peer);
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_NE(said.find("cuMemAlloc_v2 waits for 1 s: stream"), std::string::npos) << said;
  EXPECT_NE(said.find("busy with a wait for a word"), std::string::npos) << said;
}

class Residency : public KernelsRun {
 protected:
  void SetUp() override {
    KernelsRun::SetUp();
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
  OK(kernels.launch("test_store", stream_, word_, 0));  // loads it
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
  OK(kernels.launch("test_meet", stream_, word_, 1, blocks, 64));  // none waits for another
  const std::vector<unsigned char> got = bytes_at(word_, 4);
  uint32_t sum = 0;
  memcpy(&sum, got.data(), sizeof sum);
  EXPECT_EQ(sum, blocks);
}

// A block that waits for one that has no place: for ever on a device; here the watchdog says it.
int crowded_peer(int socket) {
  setenv("TERN_HOST_KERNELS_TIMEOUT", "1", 1);
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
  if (!cu().is_soft) GTEST_SKIP() << "of the software driver";
  Peer peer("crowded");
  const std::string said = words_of(peer);
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_NE(said.find("kernel test_meet hangs: of its 9 blocks of 32 threads 8 are resident"),
            std::string::npos)
      << said;
}

// Two processes with a kernel each, which wait for one another.
int meeting_peer(int socket) {
  setenv("TERN_HOST_KERNELS_TIMEOUT", "2", 1);
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
  if (cu().is_soft ? !shared : mps == 0) GTEST_SKIP() << "not a device that is shared under MPS";
  Peer peer("meeting"), other("meeting");
  CUipcMemHandle handle;
  OK(cu().cuIpcGetMemHandle(&handle, word_));
  char byte = 0;
  send_bytes(peer.socket, &handle, sizeof handle);
  receive_bytes(peer.socket, &byte, 1);
  OK(cu().cuMemsetD8Async(word_ + 1, 0, 1, stream_));  // copies and memsets are not kept back
  OK(cu().cuStreamSynchronize(stream_));
  send_bytes(other.socket, &handle, sizeof handle);
  receive_bytes(other.socket, &byte, 1);
  usleep(50'000);
  if (mps != 0) {
    TestKernels kernels;
    OK(kernels.launch("test_meet", stream_, word_, 3));
    OK(cu().cuStreamSynchronize(stream_));
  }
  // One has the device until the watchdog ends it, the other then counts alone.
  EXPECT_EQ(peer.wait(), mps != 0 ? 0 : 1);
  EXPECT_EQ(other.wait(), mps != 0 ? 0 : 1);
}

// Returns how many words were wrong in so many turns.
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
    if (!careful) {  // the reader is there before
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

TEST_F(KernelsRun, WhatIsReleasedIsSeenByWhoAcquires) {
  TestKernels kernels;
  const CUdeviceptr memory = allocate(4096);
  const CUstream streams[2] = {stream_, other_};
  EXPECT_EQ(publish_and_read(kernels, streams, memory, true, true), 0u);
}

// Of a device nothing can be promised of the careless; of this driver that it shows them.
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
  if (publish_and_read(kernels, streams, memory, false, true) == 0) return 3;
  if (publish_and_read(kernels, streams, memory, true, false) == 0) return 4;
  return ::testing::Test::HasFailure() ? 5 : 0;
}
const Role kWeak("weak", weak_peer);

// A line that device 0 stores to memory of device 1: over NVLink its last word comes last.
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
  for (uint32_t value = 1; value <= 50; ++value) {
    MUST(cu().cuCtxPushCurrent_v2(owner));
    launch("test_read_line", reader, value);
    MUST(cu().cuCtxPopCurrent_v2(nullptr));
    usleep(500);
    launch("test_line", writer, value);
    MUST(cu().cuStreamSynchronize(writer));
    MUST(cu().cuStreamSynchronize(reader));
  }
  uint32_t wrong = 0;
  MUST(cu().cuMemcpyDtoHAsync_v2(&wrong, memory + 2048, sizeof wrong, reader));
  MUST(cu().cuStreamSynchronize(reader));
  const bool whole = strcmp(links, "NV") == 0;
  return (wrong == 0) == whole ? 0 : 2;
}
int nvlink_peer(int socket) { return lines_peer(socket, "NV"); }
int pcie_peer(int socket) { return lines_peer(socket, "PCIE"); }
const Role kLines[] = {{"nvlink", nvlink_peer}, {"pcie", pcie_peer}};

TEST_F(KernelsRun, LinesTearOverPcieAndNotOverNvlink) {
  if (!cu().is_soft) GTEST_SKIP() << "of the software driver";
  for (const char* link : {"nvlink", "pcie"}) {
    Peer peer(link);
    EXPECT_EQ(peer.wait(), 0) << link;
  }
}

TEST_F(KernelsRun, AMissingReleaseOrAcquireIsSeenWhereMemoryIsWeak) {
  if (!cu().is_soft) GTEST_SKIP() << "of the software driver";
  Peer peer("weak");
  EXPECT_EQ(peer.wait(), 0);
}

// One hardware queue for all streams, and launch queues of eight pieces.
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
