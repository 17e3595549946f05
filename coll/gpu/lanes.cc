// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/lanes.hpp"

namespace tern::coll {
namespace {

/// Of the capture that a stream is in; 0: none, or the driver does not tell.
struct Recorded {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
};

Recorded recorded_in(const cuda::Driver& driver, CUstream stream) noexcept {
  Recorded found;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr)
    result = driver.cuStreamGetCaptureInfo_v2(stream, &found.status, &found.id, nullptr, nullptr,
                                              nullptr);
  else if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    result = driver.cuStreamGetCaptureInfo_v3(stream, &found.status, &found.id, nullptr, nullptr,
                                              nullptr, nullptr);
  if (result != CUDA_SUCCESS) found.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return found;
}

}  // namespace

void Lanes::prepare() noexcept {
  prepare(&eager_);
  prepare(&captured_);
}

void Lanes::prepare(Lane* lane) noexcept {
  const cuda::Driver& driver = device_.driver;
  CUresult error = CUDA_SUCCESS;
  lane->stream = device_.streams.idle();
  if (lane->stream == nullptr) lane->stream = device_.streams.make(&error);
  if (lane->stream == nullptr) return;
  if (driver.cuEventCreate(&lane->begin, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
      driver.cuEventCreate(&lane->end, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
    return;
  if (lane->begin != nullptr) (void)driver.cuEventDestroy_v2(lane->begin);
  device_.streams.end(lane->stream);
  *lane = {};
}

void Lanes::end() noexcept {
  for (Lane* lane : {&eager_, &captured_}) {
    if (lane->stream == nullptr) continue;
    (void)device_.driver.cuEventDestroy_v2(lane->begin);
    (void)device_.driver.cuEventDestroy_v2(lane->end);
    device_.streams.end(lane->stream);
    *lane = {};
  }
}

bool Lanes::is_free_for(CUstream callers) const noexcept {
  const Recorded own = recorded_in(device_.driver, captured_.stream->handle);
  if (own.status == CU_STREAM_CAPTURE_STATUS_NONE) return true;
  return own.status == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
         own.id == recorded_in(device_.driver, callers).id;
}

CUstream Lanes::fork(CUstream callers, bool captured) noexcept {
  const Lane& lane = captured ? captured_ : eager_;
  if (lane.stream == nullptr || (captured && !is_free_for(callers))) return nullptr;
  const cuda::Driver& driver = device_.driver;
  CUresult result = driver.cuEventRecord(lane.begin, callers);
  if (result == CUDA_SUCCESS) result = driver.cuStreamWaitEvent(lane.stream->handle, lane.begin, 0);
  return result == CUDA_SUCCESS ? lane.stream->handle : nullptr;
}

CUresult Lanes::join(CUstream callers, CUstream stream) noexcept {
  const Lane& lane =
      eager_.stream != nullptr && eager_.stream->handle == stream ? eager_ : captured_;
  const cuda::Driver& driver = device_.driver;
  const CUresult result = driver.cuEventRecord(lane.end, stream);
  return result == CUDA_SUCCESS ? driver.cuStreamWaitEvent(callers, lane.end, 0) : result;
}

}  // namespace tern::coll
