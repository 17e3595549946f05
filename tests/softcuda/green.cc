// SPDX-License-Identifier: Apache-2.0
// Green contexts: contexts with some of a device's multiprocessors.
#include <algorithm>
#include <mutex>
#include <vector>

#include "config.hpp"
#include "context.hpp"
#include "entry.hpp"
#include "stream.hpp"
#include "user_functions.hpp"

struct CUdevResourceDesc_st {
  unsigned first = 0, processors = 0;
};

namespace softcuda {
namespace {

unsigned& first_of(CUdevResource& resource) {
  return *reinterpret_cast<unsigned*>(resource._internal_padding);
}

CUresult describe(unsigned first, unsigned processors, CUdevResourceType type,
                  CUdevResource* resource) {
  if (type != CU_DEV_RESOURCE_TYPE_SM || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *resource = {};
  resource->type = type;
  first_of(*resource) = first;
  resource->sm = {processors, 1, 1};
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  SOFTCUDA_ENTER(kDriver, device);
  if (physical_of(device) < 0) return CUDA_ERROR_INVALID_DEVICE;
  return describe(0, config().processors, type, resource);
}

CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
  SOFTCUDA_ENTER(kContext, hCtx);
  const std::vector<CUcontext> all = contexts();
  if (std::find(all.begin(), all.end(), hCtx) == all.end()) return CUDA_ERROR_INVALID_CONTEXT;
  return describe(hCtx->first_processor,
                  hCtx->processors == 0 ? config().processors : hCtx->processors, type, resource);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* nbGroups,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned useFlags, unsigned minCount) {
  SOFTCUDA_ENTER(kDriver, minCount);
  CUdevResource from = *input;
  const unsigned each = std::max(1U, minCount);
  if (useFlags != 0 || *nbGroups == 0) return CUDA_ERROR_INVALID_VALUE;
  if (from.sm.smCount < each) return CUDA_ERROR_INVALID_VALUE;
  const unsigned groups = std::min(*nbGroups, from.sm.smCount / each);
  const unsigned first = first_of(from);
  for (unsigned i = 0; i < groups; ++i)
    describe(first + i * each, each, CU_DEV_RESOURCE_TYPE_SM, &result[i]);
  *nbGroups = groups;
  if (remaining != nullptr)
    describe(first + groups * each, from.sm.smCount - groups * each, CU_DEV_RESOURCE_TYPE_SM,
             remaining);
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources,
                                   unsigned nbResources) {
  SOFTCUDA_ENTER(kDriver);
  if (nbResources != 1 || resources->type != CU_DEV_RESOURCE_TYPE_SM)
    return CUDA_ERROR_INVALID_VALUE;
  *phDesc = make_for_ever<CUdevResourceDesc_st>();
  **phDesc = {first_of(*resources), resources->sm.smCount};
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned flags) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = make_context(dev);
  context->first_processor = desc->first;
  context->processors = desc->processors;
  *phCtx = reinterpret_cast<CUgreenCtx>(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  SOFTCUDA_ENTER(kDriver, hCtx);
  *pContext = reinterpret_cast<CUcontext>(hCtx);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned flags,
                                int priority) {
  SOFTCUDA_ENTER(kDriver, greenCtx, flags, priority);
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  *phStream = make_stream(reinterpret_cast<CUcontext>(greenCtx), /*blocking=*/false, priority);
  (*phStream)->counted = true;
  ++live("streams");
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  SOFTCUDA_ENTER(kDriver, hCtx);
  end_context(reinterpret_cast<CUcontext>(hCtx));
  return CUDA_SUCCESS;
}

}  // extern "C"
