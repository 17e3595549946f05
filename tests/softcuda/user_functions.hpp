// SPDX-License-Identifier: Apache-2.0
// Driver functions for tests, unused by Tern.
#pragma once
#include "cuda/api.hpp"

struct CUgreenCtx_st;
using CUgreenCtx = CUgreenCtx_st*;
struct CUdevResourceDesc_st;
using CUdevResourceDesc = CUdevResourceDesc_st*;
enum CUgreenCtxCreate_flags { CU_GREEN_CTX_DEFAULT_STREAM = 1 };

enum CUfunctionLoadingState {
  CU_FUNCTION_LOADING_STATE_UNLOADED = 0,
  CU_FUNCTION_LOADING_STATE_LOADED = 1
};

// clang-format off
#define SOFTCUDA_USER_FUNCTIONS(ROW)                                                               \
  ROW(cuMemcpyHtoD_v2, CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount)               \
  ROW(cuMemcpyDtoH_v2, void* dstHost, CUdeviceptr srcDevice, size_t ByteCount)                     \
  ROW(cuMemcpyDtoD_v2, CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)             \
  ROW(cuMemcpy, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)                                \
  ROW(cuMemsetD8_v2, CUdeviceptr dstDevice, unsigned char uc, size_t N)                            \
  ROW(cuMemsetD32_v2, CUdeviceptr dstDevice, unsigned ui, size_t N)                                \
  ROW(cuCtxCreate_v2, CUcontext* pctx, unsigned flags, CUdevice dev)                               \
  ROW(cuCtxDestroy_v2, CUcontext ctx)                                                              \
  ROW(cuDevicePrimaryCtxReset_v2, CUdevice dev)                                                    \
  ROW(cuStreamCreate, CUstream* phStream, unsigned Flags)                                          \
  ROW(cuMemAllocHost_v2, void** pp, size_t bytesize)                                               \
  ROW(cuPointerGetAttribute, void* data, CUpointer_attribute attribute, CUdeviceptr ptr)           \
  ROW(cuDeviceGetMemPool, CUmemoryPool* pool, CUdevice dev)                                        \
  ROW(cuDeviceSetMemPool, CUdevice dev, CUmemoryPool pool)                                         \
  ROW(cuCtxDisablePeerAccess, CUcontext peerContext)                                               \
  ROW(cuDeviceGetDevResource, CUdevice device, CUdevResource* resource, CUdevResourceType type)    \
  ROW(cuDevSmResourceSplitByCount, CUdevResource* result, unsigned* nbGroups,                      \
      const CUdevResource* input, CUdevResource* remaining, unsigned useFlags, unsigned minCount)  \
  ROW(cuDevResourceGenerateDesc, CUdevResourceDesc* phDesc, CUdevResource* resources,              \
      unsigned nbResources)                                                                        \
  ROW(cuGreenCtxCreate, CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned flags)   \
  ROW(cuGreenCtxDestroy, CUgreenCtx hCtx)                                                          \
  ROW(cuCtxFromGreenCtx, CUcontext* pContext, CUgreenCtx hCtx)                                     \
  ROW(cuGreenCtxStreamCreate, CUstream* phStream, CUgreenCtx greenCtx, unsigned flags,             \
      int priority)                                                                                \
  ROW(cuFuncIsLoaded, CUfunctionLoadingState* state, CUfunction function)
// clang-format on

extern "C" {
#define SOFTCUDA_DECLARE(name, ...) CUresult name(__VA_ARGS__);
SOFTCUDA_USER_FUNCTIONS(SOFTCUDA_DECLARE)
#undef SOFTCUDA_DECLARE
}
