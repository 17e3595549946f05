// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/multicast.hpp"

#include <fcntl.h>

#include <vector>

#include "base/error.hpp"
#include "coll/gpu/team_memory.hpp"
#include "cuda/kernels.hpp"
#include "cuda/mapping.hpp"

namespace tern::coll {
namespace {

constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

std::string failed(const char* function, CUresult result) {
  return result == CUDA_SUCCESS ? std::string() : cuda::words_of(function, result);
}

}  // namespace

std::string Multicast::why_not(cuda::Device& device) {
  const cuda::Driver& driver = device.driver;
  if (driver.cuMulticastCreate == nullptr || driver.cuMulticastAddDevice == nullptr ||
      driver.cuMulticastBindMem == nullptr || driver.cuMulticastUnbind == nullptr ||
      driver.cuMulticastGetGranularity == nullptr || !cuda::can_map(driver) ||
      driver.cuMemExportToShareableHandle == nullptr ||
      driver.cuMemImportFromShareableHandle == nullptr)
    return "the driver has no multicast objects (CUDA 12.1)";
  constexpr int kLeast = 90;  // sm_90
  if (const int capability = device.capability(); capability < kLeast)
    return strf("the GPU is sm_%d, and multicast needs sm_%d", capability, kLeast);
  if (device.attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) == 0)
    return "the GPU is not attached to an NVLink switch";
  if (device.kernels() == nullptr) return "the GPU has no kernels";
  return {};
}

std::string Multicast::create(int devices, size_t bytes, Fd* descriptor) {
  const cuda::Driver& driver = device_.driver;
  const cuda::Current current(device_);
  CUmulticastObjectProp wanted{static_cast<unsigned>(devices), bytes, kDescriptor, 0};
  size_t grain = 0;
  CUresult result =
      driver.cuMulticastGetGranularity(&grain, &wanted, CU_MULTICAST_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS || grain == 0) return failed("cuMulticastGetGranularity", result);
  wanted.size = bytes_ = (bytes + grain - 1) / grain * grain;
  result = driver.cuMulticastCreate(&object_, &wanted);
  if (result != CUDA_SUCCESS) return failed("cuMulticastCreate", result);
  has_object_ = true;
  int fd = -1;
  result = driver.cuMemExportToShareableHandle(&fd, object_, kDescriptor, 0);
  if (result != CUDA_SUCCESS) return failed("cuMemExportToShareableHandle", result);
  *descriptor = Fd(fd);
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return {};
}

std::string Multicast::join(const Fd& descriptor, size_t bytes) {
  bytes_ = bytes;
  const cuda::Current current(device_);
  const CUresult result = device_.driver.cuMemImportFromShareableHandle(
      &object_, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())), kDescriptor);
  has_object_ = result == CUDA_SUCCESS;
  return failed("cuMemImportFromShareableHandle", result);
}

std::string Multicast::add_device() {
  const cuda::Current current(device_);
  CUdevice handle = 0;
  const CUresult found = device_.driver.cuDeviceGet(&handle, device_.ordinal);
  if (found != CUDA_SUCCESS) return failed("cuDeviceGet", found);
  return failed("cuMulticastAddDevice", device_.driver.cuMulticastAddDevice(object_, handle));
}

std::string Multicast::allocate() {
  const cuda::Driver& driver = device_.driver;
  const cuda::Current current(device_);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_.ordinal};
  properties.requestedHandleTypes = kDescriptor;
  CUresult result = driver.cuMemCreate(&memory_, bytes_, &properties, 0);
  if (result != CUDA_SUCCESS) return failed("cuMemCreate", result);
  has_memory_ = true;
  const char* function = "";
  result = cuda::map(driver, memory_, bytes_, 0, device_.ordinal, &own_, &function);
  if (result != CUDA_SUCCESS) own_ = 0;
  if (result != CUDA_SUCCESS) return failed(function, result);
  cuda::Job job(device_);
  job.mark();
  job.note("cuMemsetD32Async",
           driver.cuMemsetD32Async(own_, 0, kStage / sizeof(uint32_t), job.stream()));
  return job.finish() ? std::string() : job.failure();
}

std::string Multicast::bind() {
  const cuda::Current current(device_);
  const CUresult result =
      device_.driver.cuMulticastBindMem(object_, 0, memory_, 0, bytes_, /*flags=*/0);
  bound_ = result == CUDA_SUCCESS;
  return failed("cuMulticastBindMem", result);
}

std::string Multicast::map() {
  const cuda::Current current(device_);
  const char* function = "";
  const CUresult result =
      cuda::map(device_.driver, object_, bytes_, 0, device_.ordinal, &all_, &function);
  if (result != CUDA_SUCCESS) all_ = 0;
  return failed(function, result);
}

cuda::MulticastArguments Multicast::arguments(const TeamMemory& memory,
                                              cuda::KernelReport* reports) const noexcept {
  cuda::MulticastArguments a{};
  memory.write_bases(a.bases);
  a.reports = reports;
  a.own = reinterpret_cast<char*>(own_);
  a.all = reinterpret_cast<char*>(all_);
  a.words = kWords;
  a.numbers = kNumbers;
  a.stage = kStage;
  a.abort_word = static_cast<int64_t>(ScratchLayout::abort());
  a.ranks = memory.ranks();
  a.rank = memory.rank();
  return a;
}

std::string Multicast::try_out(const TeamMemory& memory, cuda::KernelReport* reports) {
  constexpr uint64_t kTimeout = 10'000'000'000;
  constexpr size_t kBytes = 4096;
  const auto word = [](int rank, size_t i) {
    return (static_cast<uint32_t>(rank) + 1) * 2654435761U + static_cast<uint32_t>(i) * 40503U;
  };
  std::vector<uint32_t> mine(kBytes / sizeof(uint32_t)), found(mine.size());
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = word(memory.rank(), i);
  std::byte* const local = memory.at(memory.rank(), memory.layout().local());
  cuda::MulticastArguments a = arguments(memory, reports);
  a.what = cuda::MulticastArguments::kAllreduce;
  a.reduction = static_cast<int32_t>(cuda::MultimemReduction::u32_Sum);
  a.input = reinterpret_cast<const char*>(local);
  a.output = reinterpret_cast<char*>(local);
  a.bytes = kBytes;
  a.end = a.room = kBytes / sizeof(Vector);
  a.timeout = kTimeout;
  cuda::Job job(device_);
  const cuda::Current current(device_);
  job.copy(local, mine.data(), kBytes);
  job.mark();
  job.note("cuLaunchKernel", device_.kernels()->multicast(job.stream(), a, blocks_));
  job.copy(found.data(), local, kBytes);
  if (!job.finish()) return "the trial failed: " + job.failure();
  for (size_t i = 0; i < found.size(); ++i) {
    uint32_t sum = 0;
    for (int rank = 0; rank < memory.ranks(); ++rank) sum += word(rank, i);
    if (found[i] != sum) return "the switch returned a wrong sum";
  }
  return {};
}

// On a busy device the memory stays allocated: freeing may wait for a kernel that needs another
// rank, and that rank may need this process.
Multicast::~Multicast() {
  if (has_object_ && !device_.gone() && device_.is_quiet()) end();
}

void Multicast::end() noexcept {
  if (device_.gone() || !has_object_) return;
  const cuda::Driver& driver = device_.driver;
  const cuda::Current current(device_);
  if (current.result() != CUDA_SUCCESS) return;
  if (all_ != 0) (void)cuda::unmap(driver, all_, bytes_);
  CUdevice handle = 0;
  if (bound_ && driver.cuDeviceGet(&handle, device_.ordinal) == CUDA_SUCCESS)
    (void)driver.cuMulticastUnbind(object_, handle, 0, bytes_);
  if (own_ != 0) (void)cuda::unmap(driver, own_, bytes_);
  if (has_memory_) (void)driver.cuMemRelease(memory_);
  (void)driver.cuMemRelease(object_);
  own_ = all_ = 0;
  has_object_ = has_memory_ = bound_ = false;
}

}  // namespace tern::coll
