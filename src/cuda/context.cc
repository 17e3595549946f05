// SPDX-License-Identifier: Apache-2.0
#include "cuda/context.hpp"

#include "cuda/late_writes.hpp"

namespace tern::cuda {

DeviceContext::DeviceContext(const Driver& with, CUcontext in) noexcept
    : driver(with), context(in) {
  if (driver.cuCtxGetId != nullptr) (void)driver.cuCtxGetId(context, &id_);
}

bool DeviceContext::stale() const noexcept {
  if (driver.cuCtxGetId == nullptr) return false;
  unsigned long long now = 0;
  const CUresult result = driver.cuCtxGetId(context, &now);
  if (result == CUDA_SUCCESS) return now != id_;
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool DeviceContext::is_quiet() const noexcept {
  if (gone()) return true;
  if (has_waiting()) return false;
  const Current current(*this);
  return !legacy_is_captured(driver) && driver.cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS;
}

namespace {
constinit thread_local CUcontext entered __attribute__((tls_model("initial-exec"))) = nullptr;
}

Current::Current(const Driver& driver, CUcontext context) noexcept
    : driver_(driver), outer_(entered), nested_(entered == context) {
  if (nested_) return;
  CUcontext now = nullptr;
  if (driver_.cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != context) {
    result_ = driver_.cuCtxPushCurrent_v2(context);
    pushed_ = result_ == CUDA_SUCCESS;
  }
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  if (result_ == CUDA_SUCCESS) entered = context;
}

Current::~Current() {
  if (nested_) return;
  entered = outer_;
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent_v2(&popped);
}

Entered::Entered(const DeviceContext& context) noexcept : driver_(context.driver) {
  if (entered == context.context) return;
  CUcontext now = nullptr;
  if (driver_.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context.context) return;
  pushed_ = driver_.cuCtxPushCurrent_v2(context.context) == CUDA_SUCCESS;
}

Entered::~Entered() {
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent_v2(&popped);
}

}  // namespace tern::cuda
