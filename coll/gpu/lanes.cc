// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/lanes.hpp"

namespace tern::coll {

void Lanes::prepare() noexcept {
  const cuda::Driver& driver = device_.driver;
  CUresult error = CUDA_SUCCESS;
  stream_ = device_.streams.idle();
  if (stream_ == nullptr) stream_ = device_.streams.make(&error);
  if (stream_ == nullptr) return;
  if (driver.cuEventCreate(&begin_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
      driver.cuEventCreate(&end_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    end();
}

void Lanes::end() noexcept {
  for (CUevent* event : {&begin_, &end_}) {
    if (*event != nullptr) (void)device_.driver.cuEventDestroy_v2(*event);
    *event = nullptr;
  }
  if (stream_ != nullptr) device_.streams.end(stream_);
  stream_ = nullptr;
}

CUstream Lanes::fork(CUstream callers) noexcept {
  if (stream_ == nullptr) return nullptr;
  const cuda::Driver& driver = device_.driver;
  CUresult result = driver.cuEventRecord(begin_, callers);
  if (result == CUDA_SUCCESS) result = driver.cuStreamWaitEvent(stream_->handle, begin_, 0);
  return result == CUDA_SUCCESS ? stream_->handle : nullptr;
}

CUresult Lanes::join(CUstream callers) noexcept {
  const cuda::Driver& driver = device_.driver;
  const CUresult result = driver.cuEventRecord(end_, stream_->handle);
  return result == CUDA_SUCCESS ? driver.cuStreamWaitEvent(callers, end_, 0) : result;
}

}  // namespace tern::coll
