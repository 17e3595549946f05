// SPDX-License-Identifier: Apache-2.0
// Kernels: any image gives the kernels of the library SOFTCUDA_KERNELS (shim/launch.h).
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <string>

#include "config.hpp"
#include "event.hpp"
#include "multicast.hpp"
#include "residency.hpp"
#include "shim/launch.h"
#include "space.hpp"
#include "stream.hpp"
#include "user_functions.hpp"

struct CUkern_st {
  const TernHostKernel* kernel = nullptr;
  int dynamic_shared = 48 << 10;
  std::atomic<bool> loaded{false};
};

struct CUlib_st {
  std::map<std::string, CUkern_st> kernels;
};

namespace softcuda {
namespace {

const TernHostKernels* host_kernels() {
  static const TernHostKernels* found = []() -> const TernHostKernels* {
    const std::string& path = config().kernels;
    if (path.empty()) return nullptr;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) give_up("SOFTCUDA_KERNELS=%s: %s", path.c_str(), dlerror());
    const auto entry =
        reinterpret_cast<const TernHostKernels* (*)()>(dlsym(library, "tern_host_kernels"));
    if (entry == nullptr) give_up("SOFTCUDA_KERNELS=%s: no tern_host_kernels", path.c_str());
    const TernHostKernels* kernels = entry();
    if (kernels->version != TERN_HOST_KERNELS_VERSION)
      give_up("SOFTCUDA_KERNELS=%s: version %d, expected %d", path.c_str(), kernels->version,
              TERN_HOST_KERNELS_VERSION);
    kernels->set_translate(translate);
    kernels->set_places(take_place, give_place);
    kernels->set_arrival(arrival_at);
    kernels->set_copies(copies_behind);
    return kernels;
  }();
  return found;
}

std::set<CUlibrary>& libraries() {
  static auto& made = *new std::set<CUlibrary>;
  return made;
}

CUkern_st* kernel_of(CUfunction function) { return reinterpret_cast<CUkern_st*>(function); }

// The caller holds table_mutex.
bool is_known(const CUkern_st* kernel) {
  for (const CUlibrary library : libraries())
    for (const auto& [name, one] : library->kernels)
      if (&one == kernel) return true;
  return false;
}

// A lazy load may wait for all work of the context.
bool loads_eagerly() {
  const char* const mode = getenv("CUDA_MODULE_LOADING");
  return mode != nullptr && strcmp(mode, "EAGER") == 0;
}

void load(CUkern_st* kernel) {
  if (!kernel->loaded.exchange(true)) wait_as_it_may();
}

constexpr int kLaunchCompletion = 12030;

struct Launch {
  Processors on;
  const TernHostKernel* kernel;
  TernLaunch shape;
  std::string parameter;
};

CUresult run(const Launch& launch) {
  char why[512] = "";
  const KernelTurn turn(launch.on, launch.kernel->name);
  const int result = host_kernels()->launch(launch.kernel, &launch.shape, launch.parameter.data(),
                                            why, sizeof why);
  if (result != 0)
    fprintf(stderr, "softcuda[%d]: kernel %s: error %d: %s\n", getpid(), launch.kernel->name,
            result, why);
  return static_cast<CUresult>(result);
}

CUresult launch(CUfunction function, const TernLaunch& shape, CUstream handle, void** parameters) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (stream->context != current_context()) return CUDA_ERROR_INVALID_HANDLE;
  CUkern_st* kernel = kernel_of(function);
  {
    std::lock_guard lock(table_mutex());
    if (!is_known(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  }
  unsigned long long threads = 1, blocks = 1;
  for (int i = 0; i < 3; ++i) {
    threads *= shape.block[i];
    blocks *= shape.grid[i];
  }
  if (threads == 0 || blocks == 0 || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (threads > static_cast<unsigned>(kernel->kernel->max_threads) ||
      shape.shared_bytes > static_cast<size_t>(kernel->dynamic_shared))
    return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = stream->context;
  const Processors on{context->physical, context->first_processor,
                      context->processors == 0 ? config().processors : context->processors};
  if (shape.cooperative && blocks > on.count * kBlocksEach)
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  load(kernel);
  Launch work{
      on, kernel->kernel, shape,
      std::string(static_cast<const char*>(parameters[0]), kernel->kernel->parameter_bytes)};
  return submit(stream, Work{.run = [work] { return run(work); }, .starts = {.kernels = 1}});
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  SOFTCUDA_ENTER(kUncaptured, code);
  if (code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (host_kernels() == nullptr) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  wait_as_it_may();
  auto* made = new CUlib_st;
  std::lock_guard lock(table_mutex());
  libraries().insert(made);
  *library = made;
  ++live("libraries");
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) {
  SOFTCUDA_ENTER(kUncaptured, library);
  std::lock_guard lock(table_mutex());
  if (libraries().erase(library) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete library;
  --live("libraries");
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  SOFTCUDA_ENTER(kContext, library);
  std::lock_guard lock(table_mutex());
  if (libraries().count(library) == 0) return CUDA_ERROR_INVALID_HANDLE;
  const TernHostKernel* kernel = host_kernels()->find(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  CUkern_st& found = library->kernels[name];
  found.kernel = kernel;
  if (loads_eagerly()) found.loaded = true;
  *pKernel = &found;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary library, const char*) {
  SOFTCUDA_ENTER(kContext, library);
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  SOFTCUDA_ENTER(kContext, kernel);
  *pFunc = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  SOFTCUDA_ENTER(kUncaptured, function);
  {
    std::lock_guard lock(table_mutex());
    if (!is_known(kernel_of(function))) return CUDA_ERROR_INVALID_HANDLE;
  }
  load(kernel_of(function));
  return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  SOFTCUDA_ENTER(kContext, function);
  std::lock_guard lock(table_mutex());
  if (!is_known(kernel_of(function))) return CUDA_ERROR_INVALID_HANDLE;
  *state = kernel_of(function)->loaded ? CU_FUNCTION_LOADING_STATE_LOADED
                                       : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  SOFTCUDA_ENTER(kContext, attrib, hfunc);
  const CUkern_st* kernel = kernel_of(hfunc);
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *pi = kernel->kernel->max_threads;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *pi = static_cast<int>(kernel->kernel->shared_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *pi = kernel->dynamic_shared;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *pi = 90;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *pi = 32;
      break;
    default:
      *pi = 0;
      break;
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  SOFTCUDA_ENTER(kContext, hfunc, attrib, value);
  if (attrib == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
  if (attrib != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 101376)
    return CUDA_ERROR_INVALID_VALUE;
  kernel_of(hfunc)->dynamic_shared = value;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  SOFTCUDA_ENTER(kContext, func, blockSize, dynamicSMemSize);
  if (blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  *numBlocks = blockSize > kernel_of(func)->kernel->max_threads ? 0 : static_cast<int>(kBlocksEach);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                        unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,
                        unsigned sharedMemBytes, CUstream hStream, void** kernelParams,
                        void** extra) {
  SOFTCUDA_ENTER(kContext, f, gridDimX, gridDimY, gridDimZ, blockDimX, sharedMemBytes, hStream);
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return launch(
      f, {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, 0},
      hStream, kernelParams);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY,
                                   unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                                   unsigned blockDimZ, unsigned sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  SOFTCUDA_ENTER(kContext, f, gridDimX, gridDimY, gridDimZ, blockDimX, sharedMemBytes, hStream);
  return launch(
      f, {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, 1},
      hStream, kernelParams);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                          void** extra) {
  SOFTCUDA_ENTER(kContext, f, config->gridDimX, config->blockDimX, config->hStream);
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  int cooperative = 0;
  CUevent begun = nullptr;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = attribute.value.cooperative;
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) continue;
    begun = find_event(attribute.value.launchCompletionEvent.event);
    if (softcuda::config().version < kLaunchCompletion || begun == nullptr ||
        begun->shared != nullptr || !(begun->flags & CU_EVENT_DISABLE_TIMING))
      return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = launch(f,
                                 {{config->gridDimX, config->gridDimY, config->gridDimZ},
                                  {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  config->sharedMemBytes,
                                  cooperative},
                                 config->hStream, kernelParams);
  // The event may be as late as the end of the blocks.
  if (result != CUDA_SUCCESS || begun == nullptr) return result;
  return cuEventRecord(begun, config->hStream);
}

}  // extern "C"
