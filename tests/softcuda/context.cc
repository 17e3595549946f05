// SPDX-License-Identifier: Apache-2.0
// Primary contexts, contexts of programs, stacks of threads.
#include "context.hpp"

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

thread_local std::vector<CUcontext> stack;

struct Contexts {
  std::vector<CUcontext> all;
  std::vector<CUcontext> primaries;
};

Contexts& known() {
  static Contexts& made = []() -> Contexts& {
    auto& fresh = *new Contexts;
    for (size_t i = 0; i < visible_devices().size(); ++i) {
      auto* context = make_for_ever<CUctx_st>();
      context->ordinal = static_cast<int>(i);
      context->physical = visible_devices()[i];
      context->primary = true;
      fresh.all.push_back(context);
      fresh.primaries.push_back(context);
    }
    return fresh;
  }();
  return made;
}

void bring_to_life(CUcontext context) {
  static std::atomic<unsigned long long> next{1};
  context->id = next++;
  context->sticky = 0;
  context->legacy = make_stream(context, /*blocking=*/true, 0);
  context->alive = true;
}

CUresult known_context(CUcontext context) {
  for (CUcontext one : known().all)
    if (one == context) return CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

CUcontext make_context(int ordinal) {
  auto* context = make_for_ever<CUctx_st>();
  context->ordinal = ordinal;
  context->physical = physical_of(ordinal);
  std::lock_guard lock(table_mutex());
  known().all.push_back(context);
  bring_to_life(context);
  return context;
}

void end_context(CUcontext context) {
  std::set<CUstream> streams;
  {
    std::lock_guard lock(table_mutex());
    context->alive = false;
    streams.swap(context->streams);
    context->peers.clear();
    context->legacy = nullptr;
  }
  for (CUstream stream : streams) abandon_stream(stream);
  free_all_of(context);
}

std::mutex& table_mutex() {
  static std::mutex& made = *new std::mutex;
  return made;
}

CUcontext current_context() { return stack.empty() ? nullptr : stack.back(); }

CUresult state_of(CUcontext context) {
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return static_cast<CUresult>(context->sticky.load());
}

bool is_sticky(CUresult error) {
  switch (error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

void poison_context(CUcontext context, CUresult error) {
  int none = 0;
  context->sticky.compare_exchange_strong(none, error);
}

std::vector<CUcontext> contexts() {
  std::lock_guard lock(table_mutex());
  return known().all;
}

CUcontext primary_of(int ordinal) { return known().primaries[static_cast<size_t>(ordinal)]; }

int physical_of(int ordinal) {
  const auto& shown = visible_devices();
  return ordinal < 0 || ordinal >= static_cast<int>(shown.size())
             ? -1
             : shown[static_cast<size_t>(ordinal)];
}

int ordinal_of(int physical) {
  const auto& shown = visible_devices();
  for (size_t i = 0; i < shown.size(); ++i)
    if (shown[i] == physical) return static_cast<int>(i);
  return -1;
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = primary_of(dev);
  std::lock_guard lock(table_mutex());
  if (context->alive && context->sticky) return static_cast<CUresult>(context->sticky.load());
  ++context->retained;
  if (!context->alive) bring_to_life(context);
  *pctx = context;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = primary_of(dev);
  {
    std::lock_guard lock(table_mutex());
    if (context->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->retained > 0) return CUDA_SUCCESS;
  }
  end_context(context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = primary_of(dev);
  {
    std::lock_guard lock(table_mutex());
    if (!context->alive) return CUDA_SUCCESS;  // others retain the context
  }
  end_context(context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned* flags, int* active) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  *flags = primary_of(dev)->flags;
  *active = primary_of(dev)->alive;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned flags, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, flags, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = make_context(dev);
  context->flags = flags;
  stack.push_back(context);
  *pctx = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  SOFTCUDA_ENTER(kDriver, ctx);
  {
    std::lock_guard lock(table_mutex());
    if (known_context(ctx) != CUDA_SUCCESS || ctx->primary || !ctx->alive)
      return CUDA_ERROR_INVALID_CONTEXT;
  }
  end_context(ctx);
  if (current_context() == ctx) stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  SOFTCUDA_ENTER(kDriver);
  *pctx = current_context();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  SOFTCUDA_ENTER(kDriver, ctx);
  std::lock_guard lock(table_mutex());
  if (ctx != nullptr && known_context(ctx) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty()) stack.pop_back();
  if (ctx != nullptr) stack.push_back(ctx);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  SOFTCUDA_ENTER(kDriver, ctx);
  std::lock_guard lock(table_mutex());
  if (known_context(ctx) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  stack.push_back(ctx);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  SOFTCUDA_ENTER(kDriver);
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  SOFTCUDA_ENTER(kDriver);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current_context()->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  SOFTCUDA_ENTER(kDriver, ctx);
  const CUcontext context = ctx != nullptr ? ctx : current_context();
  std::lock_guard lock(table_mutex());
  if (known_context(context) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  SOFTCUDA_ENTER(kContext);
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  SOFTCUDA_ENTER(kContext);
  *flags = current_context()->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  SOFTCUDA_ENTER(kContext, flags);
  current_context()->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned Flags) {
  SOFTCUDA_ENTER(kContext, peerContext, Flags);
  const CUcontext context = current_context();
  std::lock_guard lock(table_mutex());
  if (known_context(peerContext) != CUDA_SUCCESS || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peerContext->physical == context->physical) return CUDA_ERROR_INVALID_DEVICE;
  if (link_between(context->physical, peerContext->physical) == Link::kNone)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return context->peers.insert(peerContext).second ? CUDA_SUCCESS
                                                   : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  SOFTCUDA_ENTER(kContext, peerContext);
  std::lock_guard lock(table_mutex());
  return current_context()->peers.erase(peerContext) ? CUDA_SUCCESS
                                                     : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // extern "C"
