// SPDX-License-Identifier: Apache-2.0
// A fake driver with one device and the context functions. Tests add other functions.
#pragma once

#include "cuda/driver.hpp"

namespace tern::btl::cuda_ipc {

inline cuda::Driver context_driver() {
  cuda::Driver driver;
  driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "?", CUDA_SUCCESS; };
  driver.cuGetErrorString = driver.cuGetErrorName;
  driver.cuDeviceGet = [](CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; };
  driver.cuDeviceGetUuid_v2 = [](CUuuid*, CUdevice) { return CUDA_SUCCESS; };
  driver.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent_v2 = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuCtxGetCurrent = [](CUcontext* now) { return *now = nullptr, CUDA_SUCCESS; };
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  return driver;
}

}  // namespace tern::btl::cuda_ipc
