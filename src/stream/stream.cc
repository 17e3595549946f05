// SPDX-License-Identifier: Apache-2.0
// Streams: device look-up and capture state.
#include "stream/stream.hpp"

#include <new>
#include <string>

#include "base/error.hpp"
#include "core/datatype_device.hpp"
#include "cuda/kernels.hpp"
#include "mpix.h"

namespace tern::stream {
namespace {

// cudaStreamPerThread differs between threads.
const auto kPerThread = reinterpret_cast<CUstream>(2);

int current_ordinal(const cuda::Driver& driver) noexcept {
  CUdevice mine = 0;
  int count = 0;
  if (driver.cuCtxGetDevice(&mine) != CUDA_SUCCESS ||
      driver.cuDeviceGetCount(&count) != CUDA_SUCCESS)
    return -1;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if (driver.cuDeviceGet(&device, i) == CUDA_SUCCESS && device == mine) return i;
  }
  return -1;
}

int context_of(const cuda::Driver& driver, CUstream queue, cuda::Memory* where) noexcept {
  const CUresult result = driver.cuStreamGetCtx(queue, &where->context);
  if (result != CUDA_SUCCESS)
    return fail(MPIX_ERR_STREAM, "the stream value %p names no usable stream: %s",
                static_cast<void*>(queue), cuda::words_of("cuStreamGetCtx", result).c_str());
  where->kind = cuda::MemoryKind::kDevice;
  const cuda::Current current(driver, where->context);
  where->device = current_ordinal(driver);
  if (where->device >= 0) return MPI_SUCCESS;
  return fail(MPIX_ERR_STREAM, "the device of the stream %p does not answer",
              static_cast<void*>(queue));
}

}  // namespace

int make_stream(core::Process& process, CUstream queue, core::Ref<Stream>* made) noexcept {
  const cuda::Driver* const driver = cuda::driver();
  if (driver == nullptr)
    return fail(MPIX_ERR_STREAM, "the stream is a GPU's, but %s; the program must use CUDA first",
                cuda::driver_in_words().c_str());
  if (queue == kPerThread)
    return fail(MPIX_ERR_STREAM,
                "the stream is cudaStreamPerThread, which differs between threads; create a stream "
                "with cudaStreamCreate");
  if (driver->cuStreamBatchMemOp_v2 == nullptr)
    return fail(MPIX_ERR_STREAM,
                "the driver (CUDA %d.%d) lacks cuStreamBatchMemOp_v2, which lets a stream wait for "
                "the host; install a newer driver",
                driver->version / 1000, driver->version % 1000 / 10);
  cuda::Memory where;
  if (const int code = context_of(*driver, queue, &where); code != MPI_SUCCESS) return code;
  std::string why;
  cuda::Device* const device = process.gpus.device_of(where, &why);
  if (device == nullptr)
    return fail(MPIX_ERR_STREAM, "the stream %p cannot be used: %s", static_cast<void*>(queue),
                why.c_str());
  auto* const stream = new (std::nothrow) Stream(device, queue);
  if (stream == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a stream");
  *made = core::Ref<Stream>::adopt(stream);
  return MPI_SUCCESS;
}

// If prepare_type() fails, operations with the type report the error.
void prepare_type(cuda::Device& device, const core::Datatype& type) noexcept {
  if (type.contiguous() || type.size() <= 0 || device.has_waiting()) return;
  cuda::Kernels* const kernels = device.kernels();
  if (kernels == nullptr) return;
  try {
    const cuda::Current current(device);
    (void)kernels->images().prepare(core::device_layout(type));
  } catch (const std::bad_alloc&) {
    return;
  }
}

void prepare_types(core::Process& process, cuda::Device& device) noexcept {
  if (cuda::Kernels* const kernels = device.kernels(); kernels != nullptr) {
    const cuda::Current current(device);
    kernels->images().prepare();
  }
  try {
    for (const core::Object* one : process.handles.live(core::Kind::kDatatype)) {
      const auto& type = static_cast<const core::Datatype&>(*one);
      if (type.committed()) prepare_type(device, type);
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

Capture capture_of(const Stream& stream) noexcept {
  const cuda::Driver& driver = stream.device().driver;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  CUgraph graph = nullptr;
  CUresult result = CUDA_SUCCESS;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr)
    result =
        driver.cuStreamGetCaptureInfo_v2(stream.queue(), &status, &id, &graph, nullptr, nullptr);
  else if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    result = driver.cuStreamGetCaptureInfo_v3(stream.queue(), &status, &id, &graph, nullptr,
                                              nullptr, nullptr);
  if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return {true, true, result != CUDA_SUCCESS, 0, nullptr};
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return {};
  return {true, false, false, id, graph};
}

}  // namespace tern::stream
