// SPDX-License-Identifier: Apache-2.0
// Stream operations on semaphores, and batched copies.
#include "config.hpp"
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

/// An operation that neither waits nor writes is a barrier.
struct Operation {
  CUstreamBatchMemOpType type;
  uintptr_t address;
  uint64_t value;
  unsigned flags;
  [[nodiscard]] bool waits() const {
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  }
  [[nodiscard]] bool writes() const {
    return type == CU_STREAM_MEM_OP_WRITE_VALUE_32 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  }
  [[nodiscard]] bool is_wide() const {
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  }
};

constexpr unsigned kMostOperations = 255;
constexpr int kNoRemoteWrites = 13010;  // refused from this version on

// Operations reach pinned memory and the own device. Before 13.1 writes also reach peers.
bool is_in_reach(const Operation& one, const Allocation& word, int physical) {
  if (word.kind == Kind::kHost || word.kind == Kind::kRegistered) return true;
  if (!word.on_device()) return false;
  return word.physical == physical || (one.writes() && config().version < kNoRemoteWrites);
}

CUresult check(const Operation& one, CUstream stream) {
  if (!one.waits() && !one.writes())
    return one.type == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES ? CUDA_ERROR_NOT_SUPPORTED
           : one.type == CU_STREAM_MEM_OP_BARRIER           ? CUDA_SUCCESS
                                                            : CUDA_ERROR_INVALID_VALUE;
  if (one.waits() && (one.flags & CU_STREAM_WAIT_VALUE_FLUSH)) return CUDA_ERROR_NOT_SUPPORTED;
  const unsigned most = one.waits() ? unsigned{CU_STREAM_WAIT_VALUE_NOR}
                                    : unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER};
  if (one.flags > most) return CUDA_ERROR_INVALID_VALUE;
  const size_t bytes = one.is_wide() ? sizeof(uint64_t) : sizeof(uint32_t);
  const std::optional<Allocation> word = find_allocation(one.address);
  if (one.address % bytes != 0 || !word || !is_in_reach(one, *word, stream->context->physical))
    return CUDA_ERROR_INVALID_VALUE;
  return check_range(one.address, bytes, stream->context->physical);
}

template <class T>
CUresult ask(uintptr_t address, T value, unsigned flags) {
  const T word = __atomic_load_n(word_at<T>(address), __ATOMIC_ACQUIRE);
  return is_met(word, value, flags) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult operate(const Operation& one) {
  const auto value = static_cast<uint32_t>(one.value);
  switch (one.type) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return ask(one.address, value, one.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return ask(one.address, one.value, one.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      __atomic_store_n(word_at<uint32_t>(one.address), value, __ATOMIC_RELEASE);
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      __atomic_store_n(word_at<uint64_t>(one.address), one.value, __ATOMIC_RELEASE);
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

// The operations are a single piece of work. An invalid operation cancels all.
CUresult submit_operations(CUstream handle, const std::vector<Operation>& operations) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  unsigned waits = 0;
  for (const Operation& one : operations) {
    if (const CUresult bad = check(one, stream)) return bad;
    waits += one.waits();
  }
  Work work{.run = [] { return CUDA_SUCCESS; },
            .after = {},
            .on_device = waits == 0,
            .what = waits > 0 ? "a wait for a word (cuStreamWaitValue)" : "a write of a word",
            .starts = {.waits = waits}};
  for (const Operation& one : operations) work.more.push_back([one] { return operate(one); });
  return submit(stream, std::move(work));
}

Operation operation_of(const CUstreamBatchMemOpParams& one) {
  const CUstreamMemOpValueParams& by = one.waitValue;
  const Operation made{one.operation, by.address, by.value64, by.flags};
  return made.waits() || made.writes() ? made : Operation{one.operation, 0, 0, 0};
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return submit_operations(stream, {{CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags}});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return submit_operations(stream, {{CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags}});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value,
                                 unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return submit_operations(stream, {{CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags}});
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value,
                                 unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, addr, value, flags);
  return submit_operations(stream, {{CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags}});
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* paramArray, unsigned flags) {
  SOFTCUDA_ENTER(kContext, stream, count, flags);
  if (count > kMostOperations || flags != 0 || (count > 0 && paramArray == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<Operation> operations;
  for (unsigned i = 0; i < count; ++i) operations.push_back(operation_of(paramArray[i]));
  return submit_operations(stream, operations);
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  SOFTCUDA_ENTER(kContext, target, scope);
  if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
      (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
       scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
    return CUDA_ERROR_INVALID_VALUE;
  return config().rdma == Rdma::kOff ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

// Captures and the legacy stream refuse batched copies.
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
