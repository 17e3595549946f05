// SPDX-License-Identifier: Apache-2.0
// Tern's declarations of the CUDA driver against the toolkit's cuda.h. Why: a wrong declaration
// calls a driver function with wrong arguments. A macro with another text fails in the
// preprocessor.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace ours {
#include "cuda/structs.hpp"
#include "cuda/types.hpp"
}  // namespace ours
#include "cuda/functions.hpp"

// The build generates the list from cuda/types.hpp.
#define SAME(name) \
  static_assert(static_cast<int>(ours::name) == static_cast<int>(::name), #name " is another");
#include "cuda_enumerators.inc"
#undef SAME

// Drivers export this form since 11.3, but cuda.h lacks its declaration.
extern "C" CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus*, cuuint64_t*,
                                              CUgraph*, const CUgraphNode**, size_t*);

namespace ours {
#define DECLARE(name, ...) CUresult name(__VA_ARGS__);
TERN_CUDA_FUNCTIONS(DECLARE, DECLARE)
#undef DECLARE
}  // namespace ours

namespace {

// `alike`: both declarations pass the same bits.
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

#define EXPECT_SIZE(type)                        \
  EXPECT_EQ(sizeof(ours::type), sizeof(::type)); \
  EXPECT_EQ(alignof(ours::type), alignof(::type))
#define EXPECT_FIELD(type, field)                                  \
  EXPECT_EQ(offsetof(ours::type, field), offsetof(::type, field)); \
  EXPECT_EQ(sizeof(ours::type::field), sizeof(::type::field)) << #field

TEST(CudaApi, LayoutsOfHandlesAndCopiesAgree) {
  EXPECT_SIZE(CUuuid);
  EXPECT_FIELD(CUuuid, bytes);
  EXPECT_SIZE(CUipcMemHandle);
  EXPECT_FIELD(CUipcMemHandle, reserved);
  EXPECT_SIZE(CUipcEventHandle);
  EXPECT_FIELD(CUipcEventHandle, reserved);
  EXPECT_SIZE(CUmemFabricHandle);
  EXPECT_FIELD(CUmemFabricHandle, data);
  EXPECT_SIZE(CUDA_MEMCPY2D);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcXInBytes);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcY);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcMemoryType);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcHost);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcDevice);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcArray);
  EXPECT_FIELD(CUDA_MEMCPY2D, srcPitch);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstXInBytes);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstY);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstMemoryType);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstHost);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstDevice);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstArray);
  EXPECT_FIELD(CUDA_MEMCPY2D, dstPitch);
  EXPECT_FIELD(CUDA_MEMCPY2D, WidthInBytes);
  EXPECT_FIELD(CUDA_MEMCPY2D, Height);
}

TEST(CudaApi, LayoutsOfAllocationsAgree) {
  EXPECT_SIZE(CUmemLocation);
  EXPECT_FIELD(CUmemLocation, type);
  EXPECT_FIELD(CUmemLocation, id);
  EXPECT_SIZE(CUmemAccessDesc);
  EXPECT_FIELD(CUmemAccessDesc, location);
  EXPECT_FIELD(CUmemAccessDesc, flags);
  EXPECT_SIZE(CUmemAllocationProp);
  EXPECT_FIELD(CUmemAllocationProp, type);
  EXPECT_FIELD(CUmemAllocationProp, requestedHandleTypes);
  EXPECT_FIELD(CUmemAllocationProp, location);
  EXPECT_FIELD(CUmemAllocationProp, win32HandleMetaData);
  EXPECT_FIELD(CUmemAllocationProp, allocFlags);
  EXPECT_SIZE(CUmemPoolProps);
  EXPECT_FIELD(CUmemPoolProps, allocType);
  EXPECT_FIELD(CUmemPoolProps, handleTypes);
  EXPECT_FIELD(CUmemPoolProps, location);
  EXPECT_FIELD(CUmemPoolProps, win32SecurityAttributes);
  EXPECT_FIELD(CUmemPoolProps, maxSize);
  EXPECT_FIELD(CUmemPoolProps, usage);
  EXPECT_FIELD(CUmemPoolProps, reserved);
  EXPECT_SIZE(CUmemPoolPtrExportData);
  EXPECT_FIELD(CUmemPoolPtrExportData, reserved);
}

TEST(CudaApi, LayoutsOfMulticastAndBatchesAgree) {
  EXPECT_SIZE(CUmulticastObjectProp);
  EXPECT_FIELD(CUmulticastObjectProp, numDevices);
  EXPECT_FIELD(CUmulticastObjectProp, size);
  EXPECT_FIELD(CUmulticastObjectProp, handleTypes);
  EXPECT_FIELD(CUmulticastObjectProp, flags);
  EXPECT_SIZE(CUmemcpyAttributes);
  EXPECT_FIELD(CUmemcpyAttributes, srcAccessOrder);
  EXPECT_FIELD(CUmemcpyAttributes, srcLocHint);
  EXPECT_FIELD(CUmemcpyAttributes, dstLocHint);
  EXPECT_FIELD(CUmemcpyAttributes, flags);
}

TEST(CudaApi, LayoutsOfLaunchesAgree) {
  EXPECT_SIZE(CUlaunchAttributeValue);
  EXPECT_FIELD(CUlaunchAttributeValue, pad);
  EXPECT_FIELD(CUlaunchAttributeValue, cooperative);
  EXPECT_FIELD(CUlaunchAttributeValue, clusterDim);
  EXPECT_FIELD(CUlaunchAttributeValue, priority);
  EXPECT_FIELD(CUlaunchAttributeValue, launchCompletionEvent);
  EXPECT_SIZE(CUlaunchAttribute);
  EXPECT_FIELD(CUlaunchAttribute, id);
  EXPECT_FIELD(CUlaunchAttribute, pad);
  EXPECT_FIELD(CUlaunchAttribute, value);
  EXPECT_SIZE(CUlaunchConfig);
  EXPECT_FIELD(CUlaunchConfig, gridDimX);
  EXPECT_FIELD(CUlaunchConfig, gridDimY);
  EXPECT_FIELD(CUlaunchConfig, gridDimZ);
  EXPECT_FIELD(CUlaunchConfig, blockDimX);
  EXPECT_FIELD(CUlaunchConfig, blockDimY);
  EXPECT_FIELD(CUlaunchConfig, blockDimZ);
  EXPECT_FIELD(CUlaunchConfig, sharedMemBytes);
  EXPECT_FIELD(CUlaunchConfig, hStream);
  EXPECT_FIELD(CUlaunchConfig, attrs);
  EXPECT_FIELD(CUlaunchConfig, numAttrs);
}

TEST(CudaApi, LayoutsOfStreamOperationsAgree) {
  EXPECT_SIZE(CUstreamBatchMemOpParams);
  EXPECT_FIELD(CUstreamBatchMemOpParams, operation);
  EXPECT_FIELD(CUstreamBatchMemOpParams, waitValue);
  EXPECT_FIELD(CUstreamBatchMemOpParams, writeValue);
  EXPECT_FIELD(CUstreamBatchMemOpParams, flushRemoteWrites);
  EXPECT_FIELD(CUstreamBatchMemOpParams, memoryBarrier);
  EXPECT_FIELD(CUstreamBatchMemOpParams, pad);
  EXPECT_SIZE(CUgraphEdgeData);
  EXPECT_FIELD(CUgraphEdgeData, from_port);
  EXPECT_FIELD(CUgraphEdgeData, to_port);
  EXPECT_FIELD(CUgraphEdgeData, type);
  EXPECT_FIELD(CUgraphEdgeData, reserved);
  EXPECT_FIELD(CUstreamBatchMemOpParams, waitValue.address);
  EXPECT_FIELD(CUstreamBatchMemOpParams, waitValue.value64);
  EXPECT_FIELD(CUstreamBatchMemOpParams, waitValue.flags);
  EXPECT_FIELD(CUstreamBatchMemOpParams, memoryBarrier.flags);
}
#undef EXPECT_SIZE
#undef EXPECT_FIELD

}  // namespace
