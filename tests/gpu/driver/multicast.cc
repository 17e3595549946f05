// SPDX-License-Identifier: Apache-2.0
// Multicast objects of two processes with a device each.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "kernels.hpp"

namespace driver_test {
namespace {

constexpr size_t kBytes = 4 << 20;

struct Member {
  CUdevice device;
  CUmemGenericAllocationHandle memory = 0, object = 0;
  CUdeviceptr at = 0, multicast = 0;

  CUdeviceptr map(CUmemGenericAllocationHandle handle) const {
    CUdeviceptr address = 0;
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cu().cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuMemMap(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
    return address;
  }
  void make_memory(float first, CUstream stream) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    EXPECT_EQ(cu().cuMemCreate(&memory, kBytes, &prop, 0), CUDA_SUCCESS);
    at = map(memory);
    const float words[4] = {first, 0, 0, 0};
    EXPECT_EQ(cu().cuMemcpyHtoDAsync_v2(at, words, sizeof words, stream), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  void bind() const {
    EXPECT_EQ(cu().cuMulticastBindMem(object, 0, memory, 0, kBytes, 0), CUDA_SUCCESS);
  }
  void leave() const {
    for (const CUdeviceptr address : {multicast, at}) {
      if (address == 0) continue;
      EXPECT_EQ(cu().cuMemUnmap(address, kBytes), CUDA_SUCCESS);
      EXPECT_EQ(cu().cuMemAddressFree(address, kBytes), CUDA_SUCCESS);
    }
    EXPECT_EQ(cu().cuMulticastUnbind(object, device, 0, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuMemRelease(memory), CUDA_SUCCESS);
    EXPECT_EQ(cu().cuMemRelease(object), CUDA_SUCCESS);
  }
};

struct Words {
  float given[4], sum[4];
  uint32_t word;
};
Words words_at(CUdeviceptr at, CUstream stream) {
  Words words{};
  EXPECT_EQ(cu().cuMemcpyDtoHAsync_v2(&words, at, sizeof words, stream), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamSynchronize(stream), CUDA_SUCCESS);
  return words;
}

int joining_peer(int socket) {
  const CUstream stream = begin_peer(1);
  Member member{1};
  const int fd = receive_fd(socket);
  MUST(cu().cuMemImportFromShareableHandle(&member.object,
                                           reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(fd);
  member.make_memory(2.5, stream);
  char byte = 0;
  receive_bytes(socket, &byte, 1);
  MUST(cu().cuMulticastAddDevice(member.object, 1));
  member.bind();
  send_bytes(socket, "b", 1);
  receive_bytes(socket, &byte, 1);
  const Words words = words_at(member.at, stream);
  if (cu().is_soft && (words.sum[0] != 4 || words.word != 7)) return 2;
  member.leave();
  return ::testing::Test::HasFailure() ? 3 : 0;
}
const Role kJoining("joining", joining_peer);

class Multicast : public Gpu {};

TEST_F(Multicast, WhatOneWritesAllHaveAndWhatAllHaveIsReduced) {
  int devices = 0, first = 0, second = 0;
  OK(cu().cuDeviceGetCount(&devices));
  if (devices > 1) {
    OK(cu().cuDeviceGetAttribute(&first, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    OK(cu().cuDeviceGetAttribute(&second, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1));
  }
  if (cu().cuMulticastCreate == nullptr || !first || !second)
    GTEST_SKIP() << "needs two devices with multicast";
  Peer peer("joining");
  Member member{0};
  const CUmulticastObjectProp prop{2, kBytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
  OK(cu().cuMulticastCreate(&member.object, &prop));
  int fd = -1;
  OK(cu().cuMemExportToShareableHandle(&fd, member.object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0));
  send_fd(peer.socket, fd);
  close(fd);
  member.make_memory(1.5, stream_);
  EXPECT_NE(cu().cuMulticastBindMem(member.object, 0, member.memory, 0, kBytes, 0), CUDA_SUCCESS)
      << "its device has not joined";
  OK(cu().cuMulticastAddDevice(member.object, 0));
  std::atomic<bool> bound{false};
  std::thread binding([&] {
    EXPECT_EQ(cu().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    member.bind();
    bound = true;
  });
  usleep(20'000);
  if (cu().is_soft) {  // bind waits for the other device only on the software driver
    EXPECT_FALSE(bound);
  }
  send_bytes(peer.socket, "j", 1);
  char byte = 0;
  receive_bytes(peer.socket, &byte, 1);
  binding.join();
  member.multicast = member.map(member.object);
  if (cu().is_soft) {  // multimem instructions need special PTX
    EXPECT_EQ(cu().cuMemsetD8Async(member.multicast, 1, 64, stream_), CUDA_ERROR_INVALID_VALUE);
    TestKernels kernels;
    tern::softcuda::PublishArguments arguments{reinterpret_cast<char*>(member.multicast), nullptr,
                                               nullptr, 7, 0};
    void* parameters[] = {&arguments};
    OK(cu().cuLaunchKernel(kernels.find("test_multicast"), 1, 1, 1, 1, 1, 1, 0, stream_, parameters,
                           nullptr));
    OK(cu().cuStreamSynchronize(stream_));
    const Words words = words_at(member.at, stream_);
    EXPECT_EQ(words.sum[0], 4);
    EXPECT_EQ(words.word, 7u);
  }
  send_bytes(peer.socket, "e", 1);
  EXPECT_EQ(peer.wait(), 0);
  member.leave();
}

}  // namespace
}  // namespace driver_test
