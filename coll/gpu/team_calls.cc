// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/team_calls.hpp"

namespace tern::coll {

bool TeamCalls::is_captured(CUstream stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (device_.driver.cuStreamIsCapturing != nullptr)
    (void)device_.driver.cuStreamIsCapturing(stream, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult TeamCalls::begin(CUstream stream) noexcept {
  const cuda::Driver& driver = device_.driver;
  if (end_ == nullptr) return driver.cuEventCreate(&end_, CU_EVENT_DISABLE_TIMING);
  return last_ == stream ? CUDA_SUCCESS : driver.cuStreamWaitEvent(stream, end_, 0);
}

CUresult TeamCalls::end(CUstream stream) noexcept {
  last_ = stream;
  const uint32_t number = count() + 1;
  const CUresult result =
      device_.driver.cuStreamWriteValue32_v2(stream, reports_.passed_word(), number, 0);
  if (result != CUDA_SUCCESS) return result;
  calls_.store(number, std::memory_order_release);
  return device_.driver.cuEventRecord(end_, stream);
}

void TeamCalls::keep(std::vector<std::shared_ptr<const void>> what, bool captured) {
  const uint32_t done = passed();
  std::erase_if(kept_,
                [&](const auto& one) { return static_cast<int32_t>(done - one.first) >= 0; });
  for (auto& one : what)
    if (captured)
      kept_for_graphs_.push_back(std::move(one));
    else
      kept_.emplace_back(count(), std::move(one));
}

void TeamCalls::give_back() noexcept {
  if (end_ != nullptr) (void)device_.driver.cuEventDestroy_v2(std::exchange(end_, nullptr));
  lanes.end();
}

}  // namespace tern::coll
