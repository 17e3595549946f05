// SPDX-License-Identifier: Apache-2.0
// Waiting for a word in memory and writing one, in a stream; several copies at once.
#include <chrono>
#include <thread>

#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

template <class T>
bool is_met(T word, T value, unsigned flags) {
  using Signed = std::make_signed_t<T>;
  switch (flags & ~static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH)) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(word - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    default:
      return static_cast<T>(~(word | value)) != 0;
  }
}

template <class T>
T* word_at(uintptr_t address) {
  return reinterpret_cast<T*>(behind(address));
}

// A word that no device may touch, or one across two.
template <class T>
CUresult check(uintptr_t address, CUstream stream) {
  if (address % sizeof(T) != 0 || !find_allocation(address)) return CUDA_ERROR_INVALID_VALUE;
  return check_range(address, sizeof(T), stream->context->physical);
}

template <class T>
CUresult wait_value(CUstream handle, uintptr_t address, T value, unsigned flags) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (const CUresult bad = check<T>(address, stream)) return bad;
  return submit(stream,
                Work{.run =
                         [=] {
                           T* word = word_at<T>(address);
                           while (!is_met(__atomic_load_n(word, __ATOMIC_ACQUIRE), value, flags) &&
                                  !exiting() && !stream->abandoned)
                             std::this_thread::sleep_for(std::chrono::microseconds(20));
                           return CUDA_SUCCESS;
                         },
                     .on_device = false});
}

template <class T>
CUresult write_value(CUstream handle, uintptr_t address, T value) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (const CUresult bad = check<T>(address, stream)) return bad;
  return submit(stream, [=] {
    __atomic_store_n(word_at<T>(address), value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
  });
}

CUresult operate(CUstream stream, const CUstreamBatchMemOpParams& one) {
  const CUstreamMemOpValueParams& by = one.waitValue;
  switch (one.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_value(stream, by.address, by.value, by.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_value(stream, by.address, by.value64, by.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_value(stream, by.address, by.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_value(stream, by.address, by.value64);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return wait_value(stream, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return wait_value(stream, addr, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value,
                                 unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return write_value(stream, addr, value);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value,
                                 unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return write_value(stream, addr, value);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* paramArray, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, count, flags);
  for (unsigned i = 0; i < count; ++i)
    if (const CUresult failed = operate(stream, paramArray[i])) return failed;
  return CUDA_SUCCESS;
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  SOFTCUDA_ENTER(kContext, target, scope);
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Not in a capture, and not in the legacy stream.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
  SOFTCUDA_ENTER(kContext, count, numAttrs, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  if (attrs == nullptr || attrsIdxs == nullptr || numAttrs == 0 || numAttrs > count ||
      stream == stream->context->legacy)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (size_t i = 0; i < count; ++i)
    if (const CUresult failed = cuMemcpyAsync(dsts[i], srcs[i], sizes[i], hStream)) return failed;
  return CUDA_SUCCESS;
}

}  // extern "C"
