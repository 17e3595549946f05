// SPDX-License-Identifier: Apache-2.0
#include "cuda/event.hpp"

#include <utility>

#include "cuda/device.hpp"

namespace tern::cuda {

SharedEvent::SharedEvent(Job& job) noexcept {
  if (job.failed()) return;
  Device& device = job.device();
  const Current current(device);
  CUresult error = CUDA_SUCCESS;
  event_ = device.events.acquire(&name_, &error);
  if (event_ == nullptr) return;
  device_ = &device;
  if (device.driver.cuEventRecord(event_, job.stream()) != CUDA_SUCCESS) *this = {};
}

SharedEvent& SharedEvent::operator=(SharedEvent&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  std::swap(name_, other.name_);
  return *this;
}

SharedEvent::~SharedEvent() {
  if (event_ == nullptr) return;
  if (device_->gone())
    Events::forget(event_);
  else
    device_->events.release(event_, name_);
}

CUevent open_event(Job& job, const EventName& name) noexcept {
  if (job.failed()) return nullptr;
  Device& device = job.device();
  const Current current(device);
  CUresult error = current.result();
  const CUevent event = error == CUDA_SUCCESS ? device.events.open(name, &error) : nullptr;
  job.note("cuIpcOpenEventHandle", error);
  return event;
}

bool happened(Job& job, CUevent event) noexcept {
  if (job.failed()) return false;
  const Current current(job.device());
  const CUresult asked = job.device().gone() ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                             : job.device().driver.cuEventQuery(event);
  if (asked != CUDA_ERROR_NOT_READY) job.note("cuEventQuery", asked);
  return asked == CUDA_SUCCESS;
}

}  // namespace tern::cuda
