// SPDX-License-Identifier: Apache-2.0
// Memory and events between processes: legacy IPC, descriptors, pools.
#include <sys/mman.h>
#include <unistd.h>

#include "driver.hpp"

namespace driver_test {
namespace {

constexpr size_t kBytes = 4 << 20;
constexpr unsigned char kRecords = 8;

class Sharing : public Gpu {};

bool all(CUdeviceptr address, size_t bytes, unsigned char value, CUstream stream) {
  std::vector<unsigned char> got(bytes);
  MUST(cu().cuMemcpyDtoHAsync_v2(got.data(), address, bytes, stream));
  MUST(cu().cuStreamSynchronize(stream));
  return got == std::vector<unsigned char>(bytes, value);
}

void send_handles(int socket, CUdeviceptr address, CUevent event) {
  CUipcMemHandle handle;
  CUipcEventHandle event_handle;
  OK(cu().cuIpcGetMemHandle(&handle, address));
  OK(cu().cuIpcGetEventHandle(&event_handle, event));
  send_bytes(socket, &handle, sizeof handle);
  send_bytes(socket, &event_handle, sizeof event_handle);
}

// Some drivers refuse to open memory of an open block.
bool opens_again(const CUipcMemHandle& handle, CUdeviceptr open, CUdeviceptr* address) {
  const CUresult result =
      cu().cuIpcOpenMemHandle_v2(address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result == CUDA_SUCCESS) return true;
  if (result != CUDA_ERROR_ALREADY_MAPPED) std::exit(90);
  *address = open;
  return false;
}

int legacy_peer(int socket) {
  const CUstream stream = begin_peer();
  CUipcMemHandle handle;
  CUipcEventHandle event_handle;
  CUdeviceptr address = 0, again = 0;
  CUevent event = nullptr;
  receive_bytes(socket, &handle, sizeof handle);
  receive_bytes(socket, &event_handle, sizeof event_handle);
  MUST(cu().cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  const bool twice = opens_again(handle, address, &again);
  if (twice && address != again) return 2;
  CUipcMemHandle onward;
  if (cu().cuIpcGetMemHandle(&onward, address) == CUDA_SUCCESS) return 3;
  MUST(cu().cuIpcOpenEventHandle(&event, event_handle));
  MUST(cu().cuStreamWaitEvent(stream, event, 0));
  if (!all(address, kBytes, 7, stream)) return 4;
  MUST(cu().cuMemsetD8Async(address, 8, kBytes, stream));
  MUST(cu().cuStreamSynchronize(stream));
  MUST(cu().cuIpcCloseMemHandle(address));
  if (twice) MUST(cu().cuIpcCloseMemHandle(again));
  if (cu().cuIpcCloseMemHandle(address) == CUDA_SUCCESS) return 5;
  MUST(cu().cuEventDestroy_v2(event));
  send_bytes(socket, "x", 1);
  return 0;
}

TEST_F(Sharing, MemoryAndEventsByLegacyHandles) {
  Peer peer("legacy");
  const CUdeviceptr address = allocate(kBytes);
  CUevent event = nullptr;
  OK(cu().cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  OK(cu().cuMemsetD8Async(address, 7, kBytes, stream_));
  OK(cu().cuEventRecord(event, stream_));
  send_handles(peer.socket, address, event);
  ASSERT_EQ(peer.wait(), 0);
  EXPECT_EQ(bytes_at(address, kBytes), std::vector<unsigned char>(kBytes, 8));
  OK(cu().cuEventDestroy_v2(event));
}

int asking_peer(int socket) {
  const CUstream stream = begin_peer();
  CUipcMemHandle handle;
  CUipcEventHandle event_handle;
  CUdeviceptr address = 0;
  CUevent event = nullptr;
  receive_bytes(socket, &handle, sizeof handle);
  receive_bytes(socket, &event_handle, sizeof event_handle);
  MUST(cu().cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  MUST(cu().cuIpcOpenEventHandle(&event, event_handle));
  for (unsigned char value = 1; value <= kRecords; ++value) {
    char recorded = 0;
    receive_bytes(socket, &recorded, 1);
    CUresult asked = CUDA_ERROR_NOT_READY;
    while ((asked = cu().cuEventQuery(event)) == CUDA_ERROR_NOT_READY) usleep(50);
    MUST(asked);
    if (!all(address, kBytes, value, stream)) return value;
    send_bytes(socket, "x", 1);
  }
  return 0;
}

TEST_F(Sharing, AnEventThatWasOpenedOnceIsAskedAfterEachRecord) {
  Peer peer("asking");
  const CUdeviceptr address = allocate(kBytes);
  CUevent event = nullptr;
  OK(cu().cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  send_handles(peer.socket, address, event);
  for (unsigned char value = 1; value <= kRecords; ++value) {
    for (int again = 0; again < 20; ++again)
      OK(cu().cuMemsetD8Async(address, again < 19 ? 0 : value, kBytes, stream_));
    OK(cu().cuEventRecord(event, stream_));
    send_bytes(peer.socket, "r", 1);
    char seen = 0;
    receive_bytes(peer.socket, &seen, 1);
  }
  EXPECT_EQ(peer.wait(), 0);
  OK(cu().cuEventDestroy_v2(event));
}

// Some drivers refuse all allocations but the first, or return another allocation's address. The
// library must detect both.
int small_peer(int socket) {
  const CUstream stream = begin_peer();
  CUdeviceptr first = 0;
  for (unsigned char i = 1; i <= 3; ++i) {
    CUipcMemHandle handle;
    CUdeviceptr address = 0;
    receive_bytes(socket, &handle, sizeof handle);
    const bool open = opens_again(handle, first, &address);
    if (open && address == first) continue;
    if (open && !all(address, 1000, i, stream)) return i;
    if (i == 1 && !open) return 4;
    if (i == 1) first = address;
  }
  return 0;
}

TEST_F(Sharing, SmallAllocationsAndInteriorAddresses) {
  Peer peer("small");
  for (unsigned char i = 1; i <= 3; ++i) {
    const CUdeviceptr address = allocate(1000);
    fill(address, i, 1000);
    CUipcMemHandle handle, inside;
    OK(cu().cuIpcGetMemHandle(&handle, address));
    OK(cu().cuIpcGetMemHandle(&inside, address + 512));
    EXPECT_EQ(memcmp(&handle, &inside, sizeof handle), 0);
    send_bytes(peer.socket, &inside, sizeof inside);
  }
  EXPECT_EQ(peer.wait(), 0);
}

TEST_F(Sharing, OnesOwnHandleCannotBeOpened) {
  CUipcMemHandle handle;
  CUdeviceptr address = 0;
  OK(cu().cuIpcGetMemHandle(&handle, allocate(kBytes)));
  EXPECT_NE(cu().cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_SUCCESS);
}

CUmemAllocationProp by_descriptor() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return prop;
}

CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes) {
  CUdeviceptr address = 0;
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cu().cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuMemMap(address, bytes, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuMemSetAccess(address, bytes, &access, 1), CUDA_SUCCESS);
  return address;
}

void unmap(CUdeviceptr address, size_t bytes) {
  EXPECT_EQ(cu().cuMemUnmap(address, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuMemAddressFree(address, bytes), CUDA_SUCCESS);
}

int mapped_peer(int socket) {
  const CUstream stream = begin_peer();
  const int fd = receive_fd(socket);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cu().cuMemImportFromShareableHandle(&handle,
                                           reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(fd);
  const CUdeviceptr address = map(handle, kBytes);
  MUST(cu().cuMemRelease(handle));
  if (!all(address, kBytes, 7, stream)) return 2;
  MUST(cu().cuMemsetD8Async(address, 8, kBytes, stream));
  MUST(cu().cuStreamSynchronize(stream));
  unmap(address, kBytes);
  return ::testing::Test::HasFailure() ? 3 : 0;
}

TEST_F(Sharing, MappedMemoryByDescriptor) {
  Peer peer("mapped");
  const CUmemAllocationProp prop = by_descriptor();
  CUmemGenericAllocationHandle handle = 0, again = 0;
  OK(cu().cuMemCreate(&handle, kBytes, &prop, 0));
  const CUdeviceptr address = map(handle, kBytes);
  fill(address, 7, kBytes);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, address), nullptr);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), 0u);
  CUipcMemHandle legacy;
  EXPECT_EQ(cu().cuIpcGetMemHandle(&legacy, address), CUDA_ERROR_INVALID_VALUE);
  OK(cu().cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address + 100)));
  int fd = -1;
  OK(cu().cuMemExportToShareableHandle(&fd, again, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK(cu().cuMemRelease(again));
  send_fd(peer.socket, fd);
  close(fd);
  EXPECT_EQ(peer.wait(), 0);
  EXPECT_EQ(bytes_at(address, kBytes), std::vector<unsigned char>(kBytes, 8));
  OK(cu().cuMemRelease(handle));
  unmap(address, kBytes);
}

TEST_F(Sharing, MappingsSideBySideAreOneBuffer) {
  const CUmemAllocationProp prop = by_descriptor();
  size_t granule = 0;
  OK(cu().cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle first = 0, second = 0;
  OK(cu().cuMemCreate(&first, granule, &prop, 0));
  OK(cu().cuMemCreate(&second, granule, &prop, 0));
  EXPECT_EQ(cu().cuMemCreate(&first, granule + 512, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  OK(cu().cuMemAddressReserve(&address, 2 * granule, 0, 0, 0));
  OK(cu().cuMemMap(address, granule, 0, first, 0));
  OK(cu().cuMemMap(address + granule, granule, 0, second, 0));
  const std::vector<unsigned char> ones(granule, 1);
  EXPECT_NE(cu().cuMemcpyHtoDAsync_v2(address, ones.data(), granule, stream_), CUDA_SUCCESS)
      << "no device has access yet";
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cu().cuMemSetAccess(address, 2 * granule, &access, 1));
  OK(cu().cuMemcpyHtoDAsync_v2(address + granule / 2, ones.data(), granule, stream_));
  EXPECT_EQ(bytes_at(address + granule / 2, granule), ones);
  OK(cu().cuMemUnmap(address, 2 * granule));
  OK(cu().cuMemAddressFree(address, 2 * granule));
  OK(cu().cuMemRelease(first));
  OK(cu().cuMemRelease(second));
}

TEST_F(Sharing, MemoryOfTheDefaultPoolIsNotShared) {
  CUdeviceptr address = 0;
  OK(cu().cuMemAllocAsync(&address, kBytes, stream_));
  OK(cu().cuMemsetD8Async(address, 3, kBytes, stream_));
  EXPECT_EQ(bytes_at(address, kBytes), std::vector<unsigned char>(kBytes, 3));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), 0u);
  CUmemoryPool pool = nullptr;
  OK(cu().cuDeviceGetDefaultMemPool(&pool, 0));
  EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address), pool);
  CUipcMemHandle handle;
  CUmemPoolPtrExportData data;
  EXPECT_EQ(cu().cuIpcGetMemHandle(&handle, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(cu().cuMemPoolExportPointer(&data, address), CUDA_SUCCESS);
  OK(cu().cuMemFreeAsync(address, stream_));
  OK(cu().cuStreamSynchronize(stream_));
}

TEST_F(Sharing, APoolIsItsDevicesUntilOthersAreGivenAccess) {
  int devices = 0, reach = 0;
  OK(cu().cuDeviceGetCount(&devices));
  if (devices > 1) {
    OK(cu().cuDeviceCanAccessPeer(&reach, 0, 1));
  }
  if (reach == 0) GTEST_SKIP() << "needs two linked devices";
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  OK(cu().cuDevicePrimaryCtxRetain(&other, 1));
  OK(cu().cuCtxPushCurrent_v2(other));
  OK(cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cu().cuMemPoolCreate(&pool, &props));
  OK(cu().cuMemAllocFromPoolAsync(&address, 4096, pool, stream));
  OK(cu().cuStreamSynchronize(stream));
  OK(cu().cuCtxPopCurrent_v2(nullptr));
  EXPECT_NE(cu().cuMemsetD8Async(address, 1, 4096, stream_), CUDA_SUCCESS);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cu().cuMemPoolSetAccess(pool, &access, 1));
  OK(cu().cuMemsetD8Async(address, 2, 4096, stream_));
  OK(cu().cuStreamSynchronize(stream_));
  OK(cu().cuCtxPushCurrent_v2(other));
  OK(cu().cuMemFreeAsync(address, stream));
  OK(cu().cuStreamSynchronize(stream));
  OK(cu().cuMemPoolDestroy(pool));
  OK(cu().cuStreamDestroy_v2(stream));
  OK(cu().cuCtxPopCurrent_v2(nullptr));
  OK(cu().cuDevicePrimaryCtxRelease_v2(1));
}

int pool_peer(int socket) {
  const CUstream stream = begin_peer();
  const int fd = receive_fd(socket);
  CUmemoryPool pool = nullptr;
  CUmemPoolPtrExportData data;
  CUdeviceptr address = 0;
  MUST(cu().cuMemPoolImportFromShareableHandle(&pool,
                                               reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  close(fd);
  receive_bytes(socket, &data, sizeof data);
  MUST(cu().cuMemPoolImportPointer(&address, pool, &data));
  if (!all(address, kBytes, 7, stream)) return 2;
  MUST(cu().cuMemFreeAsync(address, stream));
  MUST(cu().cuStreamSynchronize(stream));
  return 0;
}

TEST_F(Sharing, MemoryOfAPoolThatIsExported) {
  Peer peer("pool");
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  OK(cu().cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  OK(cu().cuMemAllocFromPoolAsync(&address, kBytes, pool, stream_));
  OK(cu().cuMemsetD8Async(address, 7, kBytes, stream_));
  OK(cu().cuStreamSynchronize(stream_));
  int fd = -1;
  OK(cu().cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  send_fd(peer.socket, fd);
  close(fd);
  CUmemPoolPtrExportData data;
  OK(cu().cuMemPoolExportPointer(&data, address));
  send_bytes(peer.socket, &data, sizeof data);
  EXPECT_EQ(peer.wait(), 0);
  OK(cu().cuMemFreeAsync(address, stream_));
  OK(cu().cuStreamSynchronize(stream_));
  OK(cu().cuMemPoolDestroy(pool));
}

int read_behind_a_copy(bool waits) {
  const CUstream stream = begin_peer();
  CUdeviceptr address = 0;
  void* pinned = nullptr;
  MUST(cu().cuMemAlloc_v2(&address, 64));
  MUST(cu().cuMemHostAlloc(&pinned, 64, 0));
  MUST(cu().cuMemcpyDtoHAsync_v2(pinned, address, 64, stream));
  if (waits) {
    MUST(cu().cuStreamSynchronize(stream));
  } else {
    usleep(100'000);
  }
  const int seen = *static_cast<volatile unsigned char*>(pinned);
  MUST(cu().cuStreamSynchronize(stream));
  return seen < 0;
}

int wait_peer(int) { return read_behind_a_copy(true); }
int no_wait_peer(int) { return read_behind_a_copy(false); }

size_t free_memory() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cu().cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  return free;
}

constexpr size_t kLarge = size_t{64} << 20;
// Other processes on a real device change the free memory by at most kNoise.
constexpr size_t kNoise = size_t{16} << 20;

TEST_F(Sharing, AnExportedDescriptorHoldsWhatWasReleased) {
  const CUmemAllocationProp prop = by_descriptor();
  CUmemGenericAllocationHandle handle = 0;
  const size_t before = free_memory();
  OK(cu().cuMemCreate(&handle, kLarge, &prop, 0));
  int fd = -1;
  OK(cu().cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK(cu().cuMemRelease(handle));
  EXPECT_LE(free_memory() + kLarge, before + kNoise);
  close(fd);
  EXPECT_GE(free_memory() + kNoise, before);
}

int holding_peer(int socket) {
  const CUstream stream = begin_peer();
  CUmemGenericAllocationHandle handle = 0;
  const int fd = receive_fd(socket);
  MUST(cu().cuMemImportFromShareableHandle(&handle,
                                           reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(fd);
  const CUdeviceptr address = map(handle, kLarge);
  MUST(cu().cuMemRelease(handle));
  MUST(cu().cuMemsetD8Async(address, 1, 4096, stream));
  MUST(cu().cuStreamSynchronize(stream));
  send_bytes(socket, "x", 1);
  char told = 0;
  receive_bytes(socket, &told, 1);
  unmap(address, kLarge);
  send_bytes(socket, "x", 1);
  return ::testing::Test::HasFailure() ? 3 : 0;
}

TEST_F(Sharing, AnImportHoldsWhatWasReleased) {
  Peer peer("holding");
  const CUmemAllocationProp prop = by_descriptor();
  CUmemGenericAllocationHandle handle = 0;
  const size_t before = free_memory();
  OK(cu().cuMemCreate(&handle, kLarge, &prop, 0));
  int fd = -1;
  char byte = 0;
  OK(cu().cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  send_fd(peer.socket, fd);
  close(fd);
  receive_bytes(peer.socket, &byte, 1);
  OK(cu().cuMemRelease(handle));
  EXPECT_LE(free_memory() + kLarge, before + kNoise);
  send_bytes(peer.socket, "x", 1);
  receive_bytes(peer.socket, &byte, 1);
  if (cu().is_soft) {
    EXPECT_EQ(free_memory(), before);
  }
  EXPECT_EQ(peer.wait(), 0);
}

const Role kRoles[] = {{"legacy", legacy_peer},   {"asking", asking_peer},  {"small", small_peer},
                       {"mapped", mapped_peer},   {"pool", pool_peer},      {"wait", wait_peer},
                       {"no-wait", no_wait_peer}, {"holding", holding_peer}};

}  // namespace
}  // namespace driver_test
