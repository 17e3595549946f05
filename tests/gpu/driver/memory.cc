// SPDX-License-Identifier: Apache-2.0
// Memory, pointer attributes, copies.
#include <sys/mman.h>

#include "driver.hpp"

namespace driver_test {
namespace {

using Bytes = std::vector<unsigned char>;

class Memory : public Gpu {};

TEST_F(Memory, AddressesOfAnAllocationKnowIt) {
  const CUdeviceptr address = allocate(5000);
  for (const CUdeviceptr at : {address, address + 4999}) {
    CUdeviceptr base = 0;
    size_t bytes = 0;
    OK(cu().cuMemGetAddressRange_v2(&base, &bytes, at));
    EXPECT_EQ(base, address);
    EXPECT_EQ(bytes, 5000u);
    EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, at), context_);
    EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at), 0);
    EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at), address);
    EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at), 1u);
  }
}

TEST_F(Memory, SmallAllocationsAreCloseAndApart) {
  const CUdeviceptr one = allocate(100), other = allocate(100);
  const CUdeviceptr distance = other > one ? other - one : one - other;
  EXPECT_GE(distance, 256u);
  EXPECT_LT(distance, CUdeviceptr{2} << 20);
  EXPECT_EQ(one % 256, 0u);
}

TEST_F(Memory, AnAddressThatIsNobodysIsNoError) {
  int on_stack = 0;
  unsigned type = 77, managed = 77;
  int device = 77;
  CUcontext context = context_;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* data[] = {&type, &managed, &device, &context};
  OK(cu().cuPointerGetAttributes(4, which, data, reinterpret_cast<CUdeviceptr>(&on_stack)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(managed, 0u);
  EXPECT_EQ(device, -2);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(cu().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       reinterpret_cast<CUdeviceptr>(&on_stack)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, AnAddressThatComesBackHasAnotherBufferId) {
  CUdeviceptr first = 0, second = 0;
  OK(cu().cuMemAlloc_v2(&first, 4 << 20));
  const auto id = attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
  OK(cu().cuMemFree_v2(first));
  OK(cu().cuMemAlloc_v2(&second, 4 << 20));
  EXPECT_NE(attribute<uint64_t>(CU_POINTER_ATTRIBUTE_BUFFER_ID, second), id);
  OK(cu().cuMemFree_v2(second));
}

TEST_F(Memory, WhatWasFreedIsUnknown) {
  CUdeviceptr address = 0, base = 0;
  OK(cu().cuMemAlloc_v2(&address, 3 << 20));
  OK(cu().cuMemFree_v2(address));
  EXPECT_NE(cu().cuMemGetAddressRange_v2(&base, nullptr, address), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuMemFree_v2(0), CUDA_SUCCESS);
}

TEST_F(Memory, ArgumentsAreChecked) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  address = allocate(4096);
  EXPECT_EQ(cu().cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, CopiesBetweenAllKinds) {
  constexpr size_t kBytes = 100'000;
  CUdeviceptr managed = 0;
  void* pinned = nullptr;
  OK(cu().cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  OK(cu().cuMemHostAlloc(&pinned, kBytes, CU_MEMHOSTALLOC_PORTABLE));
  Bytes pageable(kBytes);
  const CUdeviceptr places[] = {allocate(kBytes), managed, reinterpret_cast<CUdeviceptr>(pinned),
                                reinterpret_cast<CUdeviceptr>(pageable.data()), allocate(kBytes)};
  unsigned char value = 1;
  for (CUdeviceptr from : places)
    for (CUdeviceptr to : places) {
      if (from == to) continue;
      const Bytes expected(kBytes, ++value);
      OK(cu().cuMemcpyAsync(from, reinterpret_cast<CUdeviceptr>(expected.data()), kBytes, stream_));
      OK(cu().cuStreamSynchronize(stream_));
      OK(cu().cuMemcpyAsync(to, from, kBytes, stream_));
      OK(cu().cuStreamSynchronize(stream_));
      EXPECT_EQ(bytes_at(to == places[3] ? from : to, kBytes), expected);
      if (to == places[3]) {
        EXPECT_EQ(pageable, expected);
      }
    }
  OK(cu().cuMemFree_v2(managed));
  OK(cu().cuMemFreeHost(pinned));
}

TEST_F(Memory, RowsOfAPicture) {
  const CUdeviceptr from = allocate(4096), to = allocate(4096);
  fill(to, 0, 4096);
  Bytes source(4096);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7);
  OK(cu().cuMemcpyAsync(from, reinterpret_cast<CUdeviceptr>(source.data()), 4096, stream_));
  CUDA_MEMCPY2D picture{};
  picture.srcMemoryType = picture.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  picture.srcDevice = from;
  picture.srcPitch = 64;
  picture.dstDevice = to;
  picture.dstPitch = 100;
  picture.WidthInBytes = 40;
  picture.Height = 30;
  OK(cu().cuMemcpy2DAsync_v2(&picture, stream_));
  const Bytes got = bytes_at(to, 4096);
  for (size_t row = 0; row < 30; ++row)
    for (size_t i = 0; i < 100; ++i)
      ASSERT_EQ(got[row * 100 + i], i < 40 ? source[row * 64 + i] : 0) << row << ", " << i;
  picture.dstPitch = 39;
  EXPECT_EQ(cu().cuMemcpy2DAsync_v2(&picture, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, Memsets) {
  const CUdeviceptr address = allocate(1024);
  fill(address, 3, 1024);
  OK(cu().cuMemsetD32Async(address + 4, 0x01020304, 2, stream_));
  const Bytes got = bytes_at(address, 16);
  const Bytes expected{3, 3, 3, 3, 4, 3, 2, 1, 4, 3, 2, 1, 3, 3, 3, 3};
  EXPECT_EQ(got, expected);
  EXPECT_EQ(cu().cuMemsetD32Async(address + 2, 0, 1, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, CopiesStayWithinAnAllocation) {
  const CUdeviceptr address = allocate(3 << 20);
  Bytes host(4 << 20);
  EXPECT_EQ(cu().cuMemcpyHtoDAsync_v2(address, host.data(), host.size(), stream_),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, SynchronousMemoryCanBeAskedFor) {
  const CUdeviceptr address = allocate(1 << 20), other = allocate(1 << 20);
  const unsigned on = 1;
  OK(cu().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address), 1u);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, other), 0u);
  const Bytes ones(1 << 20, 1);
  OK(cu().cuMemcpyHtoD_v2(address, ones.data(), ones.size()));
  EXPECT_EQ(bytes_at(address, 1 << 20), ones);  // bytes_at() does not wait for the legacy stream
  OK(cu().cuMemsetD8_v2(address, 2, 1 << 20));
  EXPECT_EQ(bytes_at(address, 1 << 20), Bytes(1 << 20, 2));
  OK(cu().cuMemsetD8_v2(other, 3, 1 << 20));
  OK(cu().cuMemcpyDtoD_v2(address, other, 1 << 20));
  EXPECT_EQ(bytes_at(address, 1 << 20), Bytes(1 << 20, 3));
}

TEST_F(Memory, AskingForItWaitsForWhatIsPending) {
  const CUdeviceptr address = allocate(1 << 20);
  const Bytes ones(1 << 20, 1);
  OK(cu().cuMemcpyHtoD_v2(address, ones.data(), ones.size()));
  const unsigned on = 1;
  OK(cu().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
  EXPECT_EQ(bytes_at(address, 1 << 20), ones);
}

TEST_F(Memory, AContextCanBeMadeSynchronous) {
  if (cu().cuCtxSetFlags == nullptr) GTEST_SKIP() << "a driver before CUDA 12.1";
  unsigned before = 0, flags = 0;
  OK(cu().cuCtxGetFlags(&before));
  OK(cu().cuCtxSetFlags(before | CU_CTX_SYNC_MEMOPS));
  OK(cu().cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, before | CU_CTX_SYNC_MEMOPS);
  const CUdeviceptr address = allocate(1 << 20);
  OK(cu().cuMemsetD8_v2(address, 5, 1 << 20));
  EXPECT_EQ(bytes_at(address, 1 << 20), Bytes(1 << 20, 5));
  OK(cu().cuCtxSetFlags(before));
}

TEST_F(Memory, RegisteredMemoryIsPinned) {
  constexpr size_t kBytes = 1 << 16;
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto address = reinterpret_cast<CUdeviceptr>(pages);
  OK(cu().cuMemHostRegister_v2(pages, kBytes, CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CU_MEMORYTYPE_HOST);
  EXPECT_EQ(cu().cuMemHostRegister_v2(pages, kBytes, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr mapped = 0;
  OK(cu().cuMemHostGetDevicePointer_v2(&mapped, pages, 0));
  fill(mapped, 9, kBytes);
  EXPECT_EQ(static_cast<unsigned char*>(pages)[kBytes - 1], 9);
  OK(cu().cuMemHostUnregister(pages));
  EXPECT_EQ(cu().cuMemHostUnregister(pages), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  munmap(pages, kBytes);
}

TEST_F(Memory, ManagedMemoryIsBoths) {
  CUdeviceptr managed = 0;
  OK(cu().cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1u);
  CUipcMemHandle handle;
  EXPECT_EQ(cu().cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
  fill(managed, 5, 4096);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(managed)[4095], 5);
  OK(cu().cuMemFree_v2(managed));
}

}  // namespace
}  // namespace driver_test
