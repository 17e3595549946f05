// SPDX-License-Identifier: Apache-2.0
// Exports of libcuda.so.1 with an older meaning: a call ends the process, because the old function
// would seem to work.
#include "config.hpp"

#define TRAP(name, better)                                                         \
  extern "C" void name() {                                                         \
    softcuda::give_up(#name " is the function of CUDA 3 and older: call " better); \
  }

TRAP(cuMemAlloc, "cuMemAlloc_v2")
TRAP(cuMemFree, "cuMemFree_v2")
TRAP(cuMemGetInfo, "cuMemGetInfo_v2")
TRAP(cuMemGetAddressRange, "cuMemGetAddressRange_v2")
TRAP(cuMemAllocHost, "cuMemAllocHost_v2")
TRAP(cuMemHostRegister, "cuMemHostRegister_v2")
TRAP(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")
TRAP(cuMemcpyHtoD, "cuMemcpyHtoD_v2")
TRAP(cuMemcpyDtoH, "cuMemcpyDtoH_v2")
TRAP(cuMemcpyDtoD, "cuMemcpyDtoD_v2")
TRAP(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")
TRAP(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")
TRAP(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")
TRAP(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2")
TRAP(cuMemsetD8, "cuMemsetD8_v2")
TRAP(cuMemsetD32, "cuMemsetD32_v2")
TRAP(cuDeviceTotalMem, "cuDeviceTotalMem_v2")
TRAP(cuCtxCreate, "cuCtxCreate_v2")
TRAP(cuCtxDestroy, "cuCtxDestroy_v2")
TRAP(cuCtxPushCurrent, "cuCtxPushCurrent_v2")
TRAP(cuCtxPopCurrent, "cuCtxPopCurrent_v2")
TRAP(cuStreamDestroy, "cuStreamDestroy_v2")
TRAP(cuEventDestroy, "cuEventDestroy_v2")
TRAP(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2")
TRAP(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")
TRAP(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2")
TRAP(cuStreamWaitValue32, "cuStreamWaitValue32_v2")
TRAP(cuStreamWriteValue32, "cuStreamWriteValue32_v2")
TRAP(cuStreamBeginCapture, "cuStreamBeginCapture_v2")
