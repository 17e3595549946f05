// SPDX-License-Identifier: Apache-2.0
// The software driver alone: faulting memory, failures on request.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "driver.hpp"

namespace driver_test {
namespace {

class Soft : public Gpu {
 protected:
  void SetUp() override {
    if (!cu().is_soft) GTEST_SKIP() << "of the software driver";
    Gpu::SetUp();
  }
  void TearDown() override {
    if (cu().is_soft) Gpu::TearDown();
  }
};
using SoftDeathTest = Soft;

#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif

bool ended_badly(int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }

TEST_F(SoftDeathTest, TheProcessorCannotTouchDeviceMemory) {
  const CUdeviceptr address = allocate(64);
  EXPECT_EXIT(*reinterpret_cast<volatile char*>(address) = 1, ended_badly, "");
}

TEST_F(Soft, TheSystemCannotTouchDeviceMemory) {
  const CUdeviceptr address = allocate(64);
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(read(fd, reinterpret_cast<void*>(address), 16), -1);
  EXPECT_EQ(errno, EFAULT);
  close(fd);
}

TEST_F(Soft, ADmaBufHasTheBytesOfItsMemory) {
  constexpr size_t kPage = 4096, kBytes = size_t{4} << 20;
  const CUdeviceptr address = allocate(kBytes);
  fill(address, 0x5a, kBytes);
  int fd = -1;
  const auto exported = [&](CUdeviceptr at, size_t bytes) {
    return cu().cuMemGetHandleForAddressRange(&fd, at, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                              0);
  };
  EXPECT_EQ(exported(address + 8, kPage), CUDA_ERROR_INVALID_VALUE) << "part of a page";
  EXPECT_EQ(exported(address, kPage + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(exported(address, 0), CUDA_ERROR_INVALID_VALUE);
  OK(exported(address, kBytes));
  unsigned char byte = 0;
  EXPECT_EQ(pread(fd, &byte, 1, kPage), 1);
  EXPECT_EQ(byte, 0x5a);
  close(fd);
}

TEST_F(Soft, AnAdaptersWritesAreFlushedInAContext) {
  OK(cu().cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
  OK(cu().cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cu().cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
            CUDA_ERROR_INVALID_CONTEXT);
  OK(cu().cuCtxSetCurrent(context_));
}

TEST_F(Soft, AMissingWaitIsARace) {
  if (!kTsan) GTEST_SKIP() << "needs a build with --enable-sanitizers=thread";
  Peer careful("wait"), careless("no-wait");
  EXPECT_EQ(careful.wait(), 0);
  EXPECT_EQ(careless.wait(), 66);
}

TEST_F(Soft, SynchronousCallsReturnBeforeTheDataLands) {
  if (kTsan) GTEST_SKIP() << "this test is a race";
  const CUdeviceptr address = allocate(1 << 20);
  fill(address, 1, 1 << 20);
  std::atomic<bool> open{false};
  OK(cu().cuLaunchHostFunc(
      nullptr,
      [](void* gate) {
        while (!static_cast<std::atomic<bool>*>(gate)->load()) usleep(100);
      },
      &open));
  OK(cu().cuMemsetD8_v2(address, 2, 1 << 20));
  EXPECT_EQ(bytes_at(address, 1)[0], 1) << "another stream sees the old data";
  open = true;
  OK(cu().cuStreamSynchronize(nullptr));
  EXPECT_EQ(bytes_at(address, 1)[0], 2);
}

TEST_F(Soft, FailuresComeAtTheCallThatWasNamed) {
  CUdeviceptr address = 0;
  cu().fault("cuMemAlloc_v2:2:2");
  OK(cu().cuMemAlloc_v2(&address, 64));
  OK(cu().cuMemFree_v2(address));
  const auto calls = cu().calls("cuMemAlloc_v2");
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, 64), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu().calls("cuMemAlloc_v2"), calls + 1);
  OK(cu().cuMemAlloc_v2(&address, 64));
  OK(cu().cuMemFree_v2(address));
  cu().fault("");
}

TEST_F(Soft, AStickyFailureEndsTheContext) {
  CUcontext mine = nullptr;
  OK(cu().cuCtxCreate_v2(&mine, 0, 0));
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  OK(cu().cuMemAlloc_v2(&address, 64));
  OK(cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  cu().fault("cuMemsetD8Async:1:700:late");
  OK(cu().cuMemsetD8Async(address, 1, 64, stream));
  EXPECT_EQ(cu().cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  cu().fault("");
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  OK(cu().cuCtxDestroy_v2(mine));
  (void)allocate(64);
}

TEST_F(Soft, NothingIsLeftAlive) {
  const char* kinds[] = {"allocations", "streams", "events", "imports", "mappings",
                         "handles",     "pools",   "graphs", "host"};
  for (const char* kind : kinds)
    EXPECT_EQ(cu().live(kind), strcmp(kind, "streams") == 0 ? 1 : 0) << kind;
}

TEST_F(SoftDeathTest, OldNamesAreTraps) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  for (const char* name : {"cuMemAlloc", "cuMemcpyHtoDAsync", "cuStreamDestroy"}) {
    const auto old = reinterpret_cast<void (*)()>(dlsym(library, name));
    ASSERT_NE(old, nullptr) << name;
    EXPECT_DEATH(old(), "_v2");
  }
}

TEST_F(Soft, MemoryEnds) {
  size_t free = 0, total = 0;
  OK(cu().cuMemGetInfo_v2(&free, &total));
  CUdeviceptr address = 0;
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, free + 4096), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Soft, ABlockAMappingAndARangeAreThreeThings) {
  constexpr size_t kPart = 2 << 20;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr at = 0;
  OK(cu().cuMemCreate(&handle, kPart, &prop, 0));
  OK(cu().cuMemAddressReserve(&at, 2 * kPart, 0, 0, 0));
  uint64_t buffers[2], blocks[2];
  for (unsigned i = 0; i < 2; ++i) {
    const CUdeviceptr part = at + i * kPart;
    OK(cu().cuMemMap(part, kPart, 0, handle, 0));
    buffers[i] = attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, part);
    blocks[i] = attribute<uint64_t>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, part);
    EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, part + 9), part);
    EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, part), kPart);
    EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, part), at);
    EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, part), 2 * kPart);
  }
  EXPECT_NE(buffers[0], buffers[1]);
  EXPECT_EQ(blocks[0], blocks[1]);
  for (unsigned i = 0; i < 2; ++i) OK(cu().cuMemUnmap(at + i * kPart, kPart));
  OK(cu().cuMemAddressFree(at, 2 * kPart));
  OK(cu().cuMemRelease(handle));
}

TEST_F(Soft, FabricHandlesAreRefusedWhereThereIsNoChannel) {
  const char* on = getenv("SOFTCUDA_FABRIC");
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = cu().cuMemCreate(&handle, 2 << 20, &prop, 0);
  if (on == nullptr || strcmp(on, "off") == 0) {
    EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
    return;
  }
  OK(result);
  CUmemFabricHandle fabric;
  OK(cu().cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  CUmemGenericAllocationHandle again = 0;
  const CUresult imported =
      cu().cuMemImportFromShareableHandle(&again, &fabric, CU_MEM_HANDLE_TYPE_FABRIC);
  EXPECT_EQ(imported, strcmp(on, "on") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED);
  if (imported == CUDA_SUCCESS) {
    EXPECT_EQ(cu().cuMemRelease(again), CUDA_SUCCESS);
  }
  OK(cu().cuMemRelease(handle));
}

}  // namespace
}  // namespace driver_test
