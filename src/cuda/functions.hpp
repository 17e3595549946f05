// SPDX-License-Identifier: Apache-2.0
// The CUDA driver functions of Tern, under their exported names.
//
// Why: a single list yields the declarations (cuda/api.hpp), the function table, and checks in
// tests. Required rows exist in all drivers since 12.0. Optional rows may be null; TERN_CUDA_LATER
// lists versions of later functions.
//
//   #define ROW(name, ...) CUresult (*name)(__VA_ARGS__);
//   TERN_CUDA_FUNCTIONS(ROW, ROW)
#pragma once

// clang-format off
#define TERN_CUDA_REQUIRED(REQUIRED)                                                               \
  REQUIRED(cuInit, unsigned Flags)                                                                 \
  REQUIRED(cuDriverGetVersion, int* driverVersion)                                                 \
  REQUIRED(cuGetErrorName, CUresult error, const char** pStr)                                      \
  REQUIRED(cuGetErrorString, CUresult error, const char** pStr)                                    \
  REQUIRED(cuDeviceGetCount, int* count)                                                           \
  REQUIRED(cuDeviceGet, CUdevice* device, int ordinal)                                             \
  REQUIRED(cuDeviceGetName, char* name, int len, CUdevice dev)                                     \
  REQUIRED(cuDeviceGetAttribute, int* pi, CUdevice_attribute attrib, CUdevice dev)                 \
  REQUIRED(cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice dev)                                         \
  REQUIRED(cuDeviceGetPCIBusId, char* pciBusId, int len, CUdevice dev)                             \
  REQUIRED(cuDeviceTotalMem_v2, size_t* bytes, CUdevice dev)                                       \
  REQUIRED(cuDeviceCanAccessPeer, int* canAccessPeer, CUdevice dev, CUdevice peerDev)              \
  REQUIRED(cuDeviceGetP2PAttribute, int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,  \
           CUdevice dstDevice)                                                                     \
  REQUIRED(cuDevicePrimaryCtxRetain, CUcontext* pctx, CUdevice dev)                                \
  REQUIRED(cuDevicePrimaryCtxRelease_v2, CUdevice dev)                                             \
  REQUIRED(cuDevicePrimaryCtxGetState, CUdevice dev, unsigned* flags, int* active)                 \
  REQUIRED(cuCtxGetCurrent, CUcontext* pctx)                                                       \
  REQUIRED(cuCtxSetCurrent, CUcontext ctx)                                                         \
  REQUIRED(cuCtxPushCurrent_v2, CUcontext ctx)                                                     \
  REQUIRED(cuCtxPopCurrent_v2, CUcontext* pctx)                                                    \
  REQUIRED(cuCtxGetDevice, CUdevice* device)                                                       \
  REQUIRED(cuCtxGetStreamPriorityRange, int* leastPriority, int* greatestPriority)                 \
  REQUIRED(cuCtxEnablePeerAccess, CUcontext peerContext, unsigned Flags)                           \
  REQUIRED(cuCtxSynchronize)                                                                       \
  REQUIRED(cuPointerGetAttributes, unsigned numAttributes, CUpointer_attribute* attributes,        \
           void** data, CUdeviceptr ptr)                                                           \
  REQUIRED(cuPointerSetAttribute, const void* value, CUpointer_attribute attribute,                \
           CUdeviceptr ptr)                                                                        \
  REQUIRED(cuMemGetAddressRange_v2, CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr)           \
  REQUIRED(cuMemGetInfo_v2, size_t* free, size_t* total)                                           \
  REQUIRED(cuMemAlloc_v2, CUdeviceptr* dptr, size_t bytesize)                                      \
  REQUIRED(cuMemFree_v2, CUdeviceptr dptr)                                                         \
  REQUIRED(cuMemHostAlloc, void** pp, size_t bytesize, unsigned Flags)                             \
  REQUIRED(cuMemFreeHost, void* p)                                                                 \
  REQUIRED(cuMemHostRegister_v2, void* p, size_t bytesize, unsigned Flags)                         \
  REQUIRED(cuMemHostUnregister, void* p)                                                           \
  REQUIRED(cuMemHostGetDevicePointer_v2, CUdeviceptr* pdptr, void* p, unsigned Flags)              \
  REQUIRED(cuMemAllocManaged, CUdeviceptr* dptr, size_t bytesize, unsigned flags)                  \
  REQUIRED(cuMemcpyAsync, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)    \
  REQUIRED(cuMemcpyPeerAsync, CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,  \
           CUcontext srcContext, size_t ByteCount, CUstream hStream)                               \
  REQUIRED(cuMemcpyHtoDAsync_v2, CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,     \
           CUstream hStream)                                                                       \
  REQUIRED(cuMemcpyDtoHAsync_v2, void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,           \
           CUstream hStream)                                                                       \
  REQUIRED(cuMemcpyDtoDAsync_v2, CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,   \
           CUstream hStream)                                                                       \
  REQUIRED(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D* pCopy, CUstream hStream)                       \
  REQUIRED(cuMemsetD8Async, CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)   \
  REQUIRED(cuMemsetD32Async, CUdeviceptr dstDevice, unsigned ui, size_t N, CUstream hStream)       \
  REQUIRED(cuStreamCreateWithPriority, CUstream* phStream, unsigned flags, int priority)           \
  REQUIRED(cuStreamDestroy_v2, CUstream hStream)                                                   \
  REQUIRED(cuStreamQuery, CUstream hStream)                                                        \
  REQUIRED(cuStreamSynchronize, CUstream hStream)                                                  \
  REQUIRED(cuStreamWaitEvent, CUstream hStream, CUevent hEvent, unsigned Flags)                    \
  REQUIRED(cuStreamGetCtx, CUstream hStream, CUcontext* pctx)                                      \
  REQUIRED(cuLaunchHostFunc, CUstream hStream, CUhostFn fn, void* userData)                        \
  REQUIRED(cuEventCreate, CUevent* phEvent, unsigned Flags)                                        \
  REQUIRED(cuEventDestroy_v2, CUevent hEvent)                                                      \
  REQUIRED(cuEventRecord, CUevent hEvent, CUstream hStream)                                        \
  REQUIRED(cuEventQuery, CUevent hEvent)                                                           \
  REQUIRED(cuEventSynchronize, CUevent hEvent)                                                     \
  REQUIRED(cuEventElapsedTime, float* pMilliseconds, CUevent hStart, CUevent hEnd)                 \
  REQUIRED(cuIpcGetMemHandle, CUipcMemHandle* pHandle, CUdeviceptr dptr)                           \
  REQUIRED(cuIpcOpenMemHandle_v2, CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned Flags)       \
  REQUIRED(cuIpcCloseMemHandle, CUdeviceptr dptr)                                                  \
  REQUIRED(cuIpcGetEventHandle, CUipcEventHandle* pHandle, CUevent event)                          \
  REQUIRED(cuIpcOpenEventHandle, CUevent* phEvent, CUipcEventHandle handle)                        \
  REQUIRED(cuLibraryLoadData, CUlibrary* library, const void* code, CUjit_option* jitOptions,      \
           void** jitOptionsValues, unsigned numJitOptions, CUlibraryOption* libraryOptions,       \
           void** libraryOptionValues, unsigned numLibraryOptions)                                 \
  REQUIRED(cuLibraryUnload, CUlibrary library)                                                     \
  REQUIRED(cuLibraryGetKernel, CUkernel* pKernel, CUlibrary library, const char* name)             \
  REQUIRED(cuLibraryGetGlobal, CUdeviceptr* dptr, size_t* bytes, CUlibrary library,                \
           const char* name)                                                                       \
  REQUIRED(cuKernelGetFunction, CUfunction* pFunc, CUkernel kernel)                                \
  REQUIRED(cuFuncGetAttribute, int* pi, CUfunction_attribute attrib, CUfunction hfunc)             \
  REQUIRED(cuFuncSetAttribute, CUfunction hfunc, CUfunction_attribute attrib, int value)           \
  REQUIRED(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* numBlocks, CUfunction func,           \
           int blockSize, size_t dynamicSMemSize)                                                  \
  REQUIRED(cuLaunchKernel, CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,  \
           unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,    \
           CUstream hStream, void** kernelParams, void** extra)                                    \
  REQUIRED(cuLaunchCooperativeKernel, CUfunction f, unsigned gridDimX, unsigned gridDimY,          \
           unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,          \
           unsigned sharedMemBytes, CUstream hStream, void** kernelParams)                         \
  REQUIRED(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode* mode)

#define TERN_CUDA_OPTIONAL(OPTIONAL)                                                               \
  OPTIONAL(cuFuncLoad, CUfunction function)                                                        \
  OPTIONAL(cuLaunchKernelEx, const CUlaunchConfig* config, CUfunction f, void** kernelParams,      \
           void** extra)                                                                           \
  OPTIONAL(cuStreamWaitValue32_v2, CUstream stream, CUdeviceptr addr, uint32_t value,              \
           unsigned flags)                                                                         \
  OPTIONAL(cuStreamWaitValue64_v2, CUstream stream, CUdeviceptr addr, uint64_t value,              \
           unsigned flags)                                                                         \
  OPTIONAL(cuStreamWriteValue32_v2, CUstream stream, CUdeviceptr addr, uint32_t value,             \
           unsigned flags)                                                                         \
  OPTIONAL(cuStreamWriteValue64_v2, CUstream stream, CUdeviceptr addr, uint64_t value,             \
           unsigned flags)                                                                         \
  OPTIONAL(cuStreamBatchMemOp_v2, CUstream stream, unsigned count,                                 \
           CUstreamBatchMemOpParams* paramArray, unsigned flags)                                   \
  OPTIONAL(cuFlushGPUDirectRDMAWrites, CUflushGPUDirectRDMAWritesTarget target,                    \
           CUflushGPUDirectRDMAWritesScope scope)                                                  \
  OPTIONAL(cuStreamGetId, CUstream hStream, unsigned long long* streamId)                          \
  OPTIONAL(cuCtxGetDevResource, CUcontext hCtx, CUdevResource* resource, CUdevResourceType type)  \
  OPTIONAL(cuCtxGetId, CUcontext ctx, unsigned long long* ctxId)                                   \
  OPTIONAL(cuCtxGetFlags, unsigned* flags)                                                         \
  OPTIONAL(cuCtxSetFlags, unsigned flags)                                                          \
  OPTIONAL(cuStreamIsCapturing, CUstream hStream, CUstreamCaptureStatus* captureStatus)            \
  OPTIONAL(cuStreamGetCaptureInfo_v2, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,  \
           uint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,             \
           size_t* numDependencies_out)                                                            \
  OPTIONAL(cuStreamGetCaptureInfo_v3, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,  \
           uint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,             \
           const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out)                      \
  OPTIONAL(cuStreamBeginCapture_v2, CUstream hStream, CUstreamCaptureMode mode)                    \
  OPTIONAL(cuStreamEndCapture, CUstream hStream, CUgraph* phGraph)                                 \
  OPTIONAL(cuGraphInstantiateWithFlags, CUgraphExec* phGraphExec, CUgraph hGraph,                  \
           unsigned long long flags)                                                               \
  OPTIONAL(cuGraphLaunch, CUgraphExec hGraphExec, CUstream hStream)                                \
  OPTIONAL(cuGraphExecDestroy, CUgraphExec hGraphExec)                                             \
  OPTIONAL(cuGraphDestroy, CUgraph hGraph)                                                         \
  OPTIONAL(cuUserObjectCreate, CUuserObject* object_out, void* ptr, CUhostFn destroy,              \
           unsigned initialRefcount, unsigned flags)                                               \
  OPTIONAL(cuUserObjectRetain, CUuserObject object, unsigned count)                                \
  OPTIONAL(cuUserObjectRelease, CUuserObject object, unsigned count)                               \
  OPTIONAL(cuGraphRetainUserObject, CUgraph graph, CUuserObject object, unsigned count,            \
           unsigned flags)                                                                         \
  OPTIONAL(cuGraphReleaseUserObject, CUgraph graph, CUuserObject object, unsigned count)           \
  OPTIONAL(cuMemCreate, CUmemGenericAllocationHandle* handle, size_t size,                         \
           const CUmemAllocationProp* prop, unsigned long long flags)                              \
  OPTIONAL(cuMemRelease, CUmemGenericAllocationHandle handle)                                      \
  OPTIONAL(cuMemAddressReserve, CUdeviceptr* ptr, size_t size, size_t alignment,                   \
           CUdeviceptr addr, unsigned long long flags)                                             \
  OPTIONAL(cuMemAddressFree, CUdeviceptr ptr, size_t size)                                         \
  OPTIONAL(cuMemMap, CUdeviceptr ptr, size_t size, size_t offset,                                  \
           CUmemGenericAllocationHandle handle, unsigned long long flags)                          \
  OPTIONAL(cuMemUnmap, CUdeviceptr ptr, size_t size)                                               \
  OPTIONAL(cuMemSetAccess, CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,              \
           size_t count)                                                                           \
  OPTIONAL(cuMemGetAllocationGranularity, size_t* granularity, const CUmemAllocationProp* prop,    \
           CUmemAllocationGranularity_flags option)                                                \
  OPTIONAL(cuMemGetAllocationPropertiesFromHandle, CUmemAllocationProp* prop,                      \
           CUmemGenericAllocationHandle handle)                                                    \
  OPTIONAL(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle* handle, void* addr)          \
  OPTIONAL(cuMemExportToShareableHandle, void* shareableHandle,                                    \
           CUmemGenericAllocationHandle handle, CUmemAllocationHandleType handleType,              \
           unsigned long long flags)                                                               \
  OPTIONAL(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle* handle, void* osHandle,   \
           CUmemAllocationHandleType shHandleType)                                                 \
  OPTIONAL(cuMemGetHandleForAddressRange, void* handle, CUdeviceptr dptr, size_t size,             \
           CUmemRangeHandleType handleType, unsigned long long flags)                              \
  OPTIONAL(cuMemPoolExportToShareableHandle, void* handle_out, CUmemoryPool pool,                  \
           CUmemAllocationHandleType handleType, unsigned long long flags)                         \
  OPTIONAL(cuMemPoolImportFromShareableHandle, CUmemoryPool* pool_out, void* handle,               \
           CUmemAllocationHandleType handleType, unsigned long long flags)                         \
  OPTIONAL(cuMemPoolExportPointer, CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr)         \
  OPTIONAL(cuMemPoolImportPointer, CUdeviceptr* ptr_out, CUmemoryPool pool,                        \
           CUmemPoolPtrExportData* shareData)                                                      \
  OPTIONAL(cuMemPoolCreate, CUmemoryPool* pool, const CUmemPoolProps* poolProps)                   \
  OPTIONAL(cuMemPoolDestroy, CUmemoryPool pool)                                                    \
  OPTIONAL(cuMemPoolSetAccess, CUmemoryPool pool, const CUmemAccessDesc* map, size_t count)        \
  OPTIONAL(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attr, void* value)        \
  OPTIONAL(cuMemPoolSetAttribute, CUmemoryPool pool, CUmemPool_attribute attr, void* value)        \
  OPTIONAL(cuDeviceGetDefaultMemPool, CUmemoryPool* pool_out, CUdevice dev)                        \
  OPTIONAL(cuMemAllocFromPoolAsync, CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,         \
           CUstream hStream)                                                                       \
  OPTIONAL(cuMemAllocAsync, CUdeviceptr* dptr, size_t bytesize, CUstream hStream)                  \
  OPTIONAL(cuMemFreeAsync, CUdeviceptr dptr, CUstream hStream)                                     \
  OPTIONAL(cuMemcpyBatchAsync_v2, CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,             \
           size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,            \
           CUstream hStream)                                                                       \
  OPTIONAL(cuMulticastCreate, CUmemGenericAllocationHandle* mcHandle,                              \
           const CUmulticastObjectProp* prop)                                                      \
  OPTIONAL(cuMulticastAddDevice, CUmemGenericAllocationHandle mcHandle, CUdevice dev)              \
  OPTIONAL(cuMulticastBindMem, CUmemGenericAllocationHandle mcHandle, size_t mcOffset,             \
           CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,                  \
           unsigned long long flags)                                                               \
  OPTIONAL(cuMulticastBindAddr, CUmemGenericAllocationHandle mcHandle, size_t mcOffset,            \
           CUdeviceptr memptr, size_t size, unsigned long long flags)                              \
  OPTIONAL(cuMulticastUnbind, CUmemGenericAllocationHandle mcHandle, CUdevice dev,                 \
           size_t mcOffset, size_t size)                                                           \
  OPTIONAL(cuMulticastGetGranularity, size_t* granularity, const CUmulticastObjectProp* prop,      \
           CUmulticastGranularity_flags option)

#define TERN_CUDA_FUNCTIONS(REQUIRED, OPTIONAL)                                                    \
  TERN_CUDA_REQUIRED(REQUIRED)                                                                     \
  TERN_CUDA_OPTIONAL(OPTIONAL)

#define TERN_CUDA_LATER(ROW)                                                                       \
  ROW(cuCtxSetFlags, 12010)                                                                        \
  ROW(cuMulticastCreate, 12010)                                                                    \
  ROW(cuMulticastAddDevice, 12010)                                                                 \
  ROW(cuMulticastBindMem, 12010)                                                                   \
  ROW(cuMulticastBindAddr, 12010)                                                                  \
  ROW(cuMulticastUnbind, 12010)                                                                    \
  ROW(cuMulticastGetGranularity, 12010)                                                            \
  ROW(cuStreamGetCaptureInfo_v3, 12030)                                                            \
  ROW(cuCtxGetDevResource, 12040)                                                                  \
  ROW(cuFuncLoad, 12040)                                                                           \
  ROW(cuMemcpyBatchAsync_v2, 13000)
// clang-format on
