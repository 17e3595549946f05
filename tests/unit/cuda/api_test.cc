// SPDX-License-Identifier: Apache-2.0
// Our declarations of the CUDA driver against the toolkit's cuda.h: values, layouts, signatures.
// Why: a slip there calls a driver function with the wrong arguments. Built where configure finds
// cuda.h. The constants that are macros are compared by the preprocessor: it refuses another text.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace ours {
#include "cuda/structs.hpp"
#include "cuda/types.hpp"
}  // namespace ours
#include "cuda/functions.hpp"

// Each enumerator of cuda/types.hpp: the list is generated from it.
#define SAME(name) \
  static_assert(static_cast<int>(ours::name) == static_cast<int>(::name), #name " is another");
#include "cuda_enumerators.inc"
#undef SAME

// cuda.h keeps this form, which drivers since 11.3 export, to itself.
extern "C" CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus*, cuuint64_t*,
                                              CUgraph*, const CUgraphNode**, size_t*);

namespace ours {
#define DECLARE(name, ...) CUresult name(__VA_ARGS__);
TERN_CUDA_FUNCTIONS(DECLARE, DECLARE)
#undef DECLARE
}  // namespace ours

namespace {

// Whether a caller passes the same thing: scalars, enumerations, structures, and pointers to alike
// things with the same const.
template <class A, class B>
constexpr bool alike = std::is_same_v<A, B> || (std::is_enum_v<A> && std::is_enum_v<B>) ||
                       (std::is_class_v<A> && std::is_class_v<B>) ||
                       (std::is_union_v<A> && std::is_union_v<B>);
template <class A, class B>
constexpr bool alike<A*, B*> =
    std::is_const_v<A> ==
    std::is_const_v<B>&& alike<std::remove_const_t<A>, std::remove_const_t<B>>;
template <class A, class B>
constexpr bool agree = false;
template <class... A, class... B>
requires(sizeof...(A) ==
         sizeof...(B)) constexpr bool agree<ours::CUresult(A...), CUresult(B...)> = (alike<A, B> &&
                                                                                     ... && true);

static_assert(agree<ours::CUresult(int), CUresult(int)>);
static_assert(!agree<ours::CUresult(int), CUresult(long)>);
static_assert(!agree<ours::CUresult(int), CUresult(int, int)>);
static_assert(!alike<const char*, char*> && !alike<char**, const char**>);

TEST(CudaApi, SignaturesAgreeWithTheToolkit) {
#define AGREE(name, ...) \
  EXPECT_TRUE((agree<decltype(ours::name), decltype(::name)>)) << #name " takes something else";
  TERN_CUDA_FUNCTIONS(AGREE, AGREE)
#undef AGREE
}

#define SIZE(type)                               \
  EXPECT_EQ(sizeof(ours::type), sizeof(::type)); \
  EXPECT_EQ(alignof(ours::type), alignof(::type))
#define FIELD(type, field)                                         \
  EXPECT_EQ(offsetof(ours::type, field), offsetof(::type, field)); \
  EXPECT_EQ(sizeof(ours::type::field), sizeof(::type::field)) << #field

TEST(CudaApi, LayoutsOfHandlesAndCopiesAgree) {
  SIZE(CUuuid);
  FIELD(CUuuid, bytes);
  SIZE(CUipcMemHandle);
  FIELD(CUipcMemHandle, reserved);
  SIZE(CUipcEventHandle);
  FIELD(CUipcEventHandle, reserved);
  SIZE(CUmemFabricHandle);
  FIELD(CUmemFabricHandle, data);
  SIZE(CUDA_MEMCPY2D);
  FIELD(CUDA_MEMCPY2D, srcXInBytes);
  FIELD(CUDA_MEMCPY2D, srcY);
  FIELD(CUDA_MEMCPY2D, srcMemoryType);
  FIELD(CUDA_MEMCPY2D, srcHost);
  FIELD(CUDA_MEMCPY2D, srcDevice);
  FIELD(CUDA_MEMCPY2D, srcArray);
  FIELD(CUDA_MEMCPY2D, srcPitch);
  FIELD(CUDA_MEMCPY2D, dstXInBytes);
  FIELD(CUDA_MEMCPY2D, dstY);
  FIELD(CUDA_MEMCPY2D, dstMemoryType);
  FIELD(CUDA_MEMCPY2D, dstHost);
  FIELD(CUDA_MEMCPY2D, dstDevice);
  FIELD(CUDA_MEMCPY2D, dstArray);
  FIELD(CUDA_MEMCPY2D, dstPitch);
  FIELD(CUDA_MEMCPY2D, WidthInBytes);
  FIELD(CUDA_MEMCPY2D, Height);
}

TEST(CudaApi, LayoutsOfAllocationsAgree) {
  SIZE(CUmemLocation);
  FIELD(CUmemLocation, type);
  FIELD(CUmemLocation, id);
  SIZE(CUmemAccessDesc);
  FIELD(CUmemAccessDesc, location);
  FIELD(CUmemAccessDesc, flags);
  SIZE(CUmemAllocationProp);
  FIELD(CUmemAllocationProp, type);
  FIELD(CUmemAllocationProp, requestedHandleTypes);
  FIELD(CUmemAllocationProp, location);
  FIELD(CUmemAllocationProp, win32HandleMetaData);
  FIELD(CUmemAllocationProp, allocFlags);
  SIZE(CUmemPoolProps);
  FIELD(CUmemPoolProps, allocType);
  FIELD(CUmemPoolProps, handleTypes);
  FIELD(CUmemPoolProps, location);
  FIELD(CUmemPoolProps, win32SecurityAttributes);
  FIELD(CUmemPoolProps, maxSize);
  FIELD(CUmemPoolProps, usage);
  FIELD(CUmemPoolProps, reserved);
  SIZE(CUmemPoolPtrExportData);
  FIELD(CUmemPoolPtrExportData, reserved);
}

TEST(CudaApi, LayoutsOfMulticastAndBatchesAgree) {
  SIZE(CUmulticastObjectProp);
  FIELD(CUmulticastObjectProp, numDevices);
  FIELD(CUmulticastObjectProp, size);
  FIELD(CUmulticastObjectProp, handleTypes);
  FIELD(CUmulticastObjectProp, flags);
  SIZE(CUmemcpyAttributes);
  FIELD(CUmemcpyAttributes, srcAccessOrder);
  FIELD(CUmemcpyAttributes, srcLocHint);
  FIELD(CUmemcpyAttributes, dstLocHint);
  FIELD(CUmemcpyAttributes, flags);
}

TEST(CudaApi, LayoutsOfLaunchesAgree) {
  SIZE(CUlaunchAttributeValue);
  FIELD(CUlaunchAttributeValue, pad);
  FIELD(CUlaunchAttributeValue, cooperative);
  FIELD(CUlaunchAttributeValue, clusterDim);
  FIELD(CUlaunchAttributeValue, priority);
  FIELD(CUlaunchAttributeValue, launchCompletionEvent);
  SIZE(CUlaunchAttribute);
  FIELD(CUlaunchAttribute, id);
  FIELD(CUlaunchAttribute, pad);
  FIELD(CUlaunchAttribute, value);
  SIZE(CUlaunchConfig);
  FIELD(CUlaunchConfig, gridDimX);
  FIELD(CUlaunchConfig, gridDimY);
  FIELD(CUlaunchConfig, gridDimZ);
  FIELD(CUlaunchConfig, blockDimX);
  FIELD(CUlaunchConfig, blockDimY);
  FIELD(CUlaunchConfig, blockDimZ);
  FIELD(CUlaunchConfig, sharedMemBytes);
  FIELD(CUlaunchConfig, hStream);
  FIELD(CUlaunchConfig, attrs);
  FIELD(CUlaunchConfig, numAttrs);
}

TEST(CudaApi, LayoutsOfStreamOperationsAgree) {
  SIZE(CUstreamBatchMemOpParams);
  FIELD(CUstreamBatchMemOpParams, operation);
  FIELD(CUstreamBatchMemOpParams, waitValue);
  FIELD(CUstreamBatchMemOpParams, writeValue);
  FIELD(CUstreamBatchMemOpParams, flushRemoteWrites);
  FIELD(CUstreamBatchMemOpParams, memoryBarrier);
  FIELD(CUstreamBatchMemOpParams, pad);
  SIZE(CUgraphEdgeData);
  FIELD(CUgraphEdgeData, from_port);
  FIELD(CUgraphEdgeData, to_port);
  FIELD(CUgraphEdgeData, type);
  FIELD(CUgraphEdgeData, reserved);
  FIELD(CUstreamBatchMemOpParams, waitValue.address);
  FIELD(CUstreamBatchMemOpParams, waitValue.value64);
  FIELD(CUstreamBatchMemOpParams, waitValue.flags);
  FIELD(CUstreamBatchMemOpParams, memoryBarrier.flags);
}
#undef SIZE
#undef FIELD

}  // namespace
