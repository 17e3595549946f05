// SPDX-License-Identifier: Apache-2.0
// Copies and memsets.
#include <string.h>

#include <chrono>
#include <thread>

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

enum class Side { kDevice, kPinned, kPageable };

struct End {
  uintptr_t address;
  Side side;
  bool sync_memops;
};

End end_at(uintptr_t address) {
  const std::optional<Allocation> found = find_allocation(address);
  if (!found) return {address, is_device_address(address) ? Side::kDevice : Side::kPageable, false};
  return {address, found->on_device() ? Side::kDevice : Side::kPinned, found->sync_memops};
}

struct Rows {
  uintptr_t to, from;
  size_t to_pitch, from_pitch, width, count;
  [[nodiscard]] size_t span(size_t pitch) const { return pitch * (count - 1) + width; }
};

CUresult check(const Rows& rows, int physical) {
  if (const CUresult bad = check_range(rows.to, rows.span(rows.to_pitch), physical)) return bad;
  return check_range(rows.from, rows.span(rows.from_pitch), physical);
}

// memcpy may write a word twice, and a waiter may reset the word between.
void move_row(char* to, const char* from, size_t width) {
  uint32_t word = 0;
  if (width != sizeof word || reinterpret_cast<uintptr_t>(to) % sizeof word != 0) {
    memcpy(to, from, width);
    return;
  }
  memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<uint32_t*>(to), word, __ATOMIC_RELEASE);
}

void move(const Rows& rows) {
  char* to = behind(rows.to);
  const char* from = behind(rows.from);
  for (size_t i = 0; i < rows.count; ++i)
    move_row(to + i * rows.to_pitch, from + i * rows.from_pitch, rows.width);
}

// Copies to pageable memory wait; copies from pageable memory may wait.
bool is_waited_for(const End& to, const End& from) {
  if (to.side != Side::kPageable && from.side != Side::kPageable) return false;
  switch (config().pageable) {
    case Pageable::kSync:
      return true;
    case Pageable::kAsync:
      return to.side == from.side;
    default:
      return to.side == Side::kPageable || random_below(2) == 0;
  }
}

CUresult copy_async(const Rows& rows, CUstream handle) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (rows.width == 0 || rows.count == 0) return CUDA_SUCCESS;
  if (const CUresult refused = check(rows, stream->context->physical)) return refused;
  const CUresult result = submit(stream, Work{.run =
                                                  [rows] {
                                                    move(rows);
                                                    return CUDA_SUCCESS;
                                                  },
                                              .starts = {.copies = 1}});
  const bool waits = is_waited_for(end_at(rows.to), end_at(rows.from));
  if (result != CUDA_SUCCESS || !waits || stream->capture) return result;
  return wait_for(end_of(stream));
}

void be_late() { std::this_thread::sleep_for(std::chrono::microseconds(config().late_us)); }

bool syncs_all(CUcontext context) { return context->flags & CU_CTX_SYNC_MEMOPS; }

// submit_late() enqueues a "synchronous" call's work in the legacy stream.
CUresult submit_late(uintptr_t to, std::function<void()> body, bool wait) {
  const CUstream legacy = current_context()->legacy;
  const CUresult result = submit(legacy, Work{.run =
                                                  [body = std::move(body)] {
                                                    be_late();
                                                    body();
                                                    return CUDA_SUCCESS;
                                                  },
                                              .starts = {.copies = 1}});
  if (result != CUDA_SUCCESS) return result;
  const Place end = end_of(legacy);
  if (wait) return wait_for(end);
  change_allocation(to, [&end](Allocation& here) { here.late = end; });
  return CUDA_SUCCESS;
}

CUresult copy_sync(uintptr_t to_address, uintptr_t from_address, size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  const CUcontext context = current_context();
  const Rows rows{to_address, from_address, bytes, bytes, bytes, 1};
  if (const CUresult refused = check(rows, context->physical)) return refused;
  const End to = end_at(to_address), from = end_at(from_address);
  const bool wait = to.sync_memops || from.sync_memops || syncs_all(context);
  if (to.side == Side::kDevice && from.side == Side::kPageable) {
    const auto* begin = reinterpret_cast<const char*>(from_address);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    return submit_late(
        to_address, [=] { memcpy(behind(to_address), staged->data(), bytes); }, wait);
  }
  if (to.side == Side::kDevice && from.side == Side::kDevice)
    return submit_late(
        to_address, [rows] { move(rows); }, wait);
  return submit_late(
      to_address, [rows] { move(rows); }, true);
}

// A kernel may read the words concurrently.
template <class T>
void fill(uintptr_t address, T value, size_t count) {
  char* to = behind(address);
  if constexpr (sizeof(T) == 1) {
    memset(to, value, count);
  } else {
    for (size_t i = 0; i < count; ++i)
      __atomic_store_n(reinterpret_cast<T*>(to) + i, value, __ATOMIC_RELAXED);
  }
}

template <class T>
CUresult set_async(uintptr_t address, T value, size_t count, CUstream handle) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (count == 0) return CUDA_SUCCESS;
  if (address % sizeof(T) != 0 || end_at(address).side == Side::kPageable)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = check_range(address, count * sizeof(T), stream->context->physical))
    return bad;
  return submit(stream, Work{.run =
                                 [=] {
                                   fill(address, value, count);
                                   return CUDA_SUCCESS;
                                 },
                             .starts = {.copies = 1}});
}

template <class T>
CUresult set_sync(uintptr_t address, T value, size_t count) {
  if (count == 0) return CUDA_SUCCESS;
  const CUcontext context = current_context();
  const End to = end_at(address);
  if (address % sizeof(T) != 0 || to.side == Side::kPageable) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = check_range(address, count * sizeof(T), context->physical)) return bad;
  return submit_late(
      address, [=] { fill(address, value, count); },
      to.side == Side::kPinned || to.sync_memops || syncs_all(context));
}

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool is_reachable(CUdeviceptr address) { return end_at(address).side != Side::kPageable; }

CUresult copy_async(uintptr_t to, uintptr_t from, size_t bytes, CUstream stream) {
  return copy_async(Rows{to, from, bytes, bytes, bytes, 1}, stream);
}

// find_end() returns false for types unused by Tern.
bool find_end(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y,
              size_t pitch, uintptr_t* address) {
  if (type == CU_MEMORYTYPE_HOST)
    *address = address_of(host);
  else if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED)
    *address = device;
  else
    return false;
  *address += y * pitch + x;
  return type == CU_MEMORYTYPE_DEVICE ? is_reachable(device) : true;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dst, src, ByteCount, hStream);
  return copy_async(dst, src, ByteCount, hStream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream);
  for (CUcontext context : {dstContext, srcContext})
    if (const CUresult refused = state_of(context)) return refused;
  if (!is_reachable(dstDevice) || !is_reachable(srcDevice)) return CUDA_ERROR_INVALID_VALUE;
  return copy_async(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstDevice, srcHost, ByteCount, hStream);
  if (!is_reachable(dstDevice) || is_device_address(address_of(srcHost)))
    return CUDA_ERROR_INVALID_VALUE;
  return copy_async(dstDevice, address_of(srcHost), ByteCount, hStream);
}

CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstHost, srcDevice, ByteCount, hStream);
  if (!is_reachable(srcDevice) || is_device_address(address_of(dstHost)))
    return CUDA_ERROR_INVALID_VALUE;
  return copy_async(address_of(dstHost), srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstDevice, srcDevice, ByteCount, hStream);
  if (!is_reachable(dstDevice) || !is_reachable(srcDevice)) return CUDA_ERROR_INVALID_VALUE;
  return copy_async(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, pCopy->WidthInBytes, pCopy->Height, hStream);
  const CUDA_MEMCPY2D& c = *pCopy;
  Rows rows{0, 0, c.dstPitch, c.srcPitch, c.WidthInBytes, c.Height};
  if (rows.width > 0 && rows.count > 1 &&
      (rows.to_pitch < rows.width || rows.from_pitch < rows.width))
    return CUDA_ERROR_INVALID_VALUE;
  if (!find_end(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstPitch,
                &rows.to) ||
      !find_end(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcPitch,
                &rows.from))
    return CUDA_ERROR_INVALID_VALUE;
  return copy_async(rows, hStream);
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstDevice, uc, N, hStream);
  return set_async(dstDevice, uc, N, hStream);
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned ui, size_t N, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dstDevice, ui, N, hStream);
  return set_async(dstDevice, ui, N, hStream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  SOFTCUDA_ENTER(kUncaptured, dstDevice, srcHost, ByteCount);
  return copy_sync(dstDevice, address_of(srcHost), ByteCount);
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  SOFTCUDA_ENTER(kUncaptured, dstHost, srcDevice, ByteCount);
  return copy_sync(address_of(dstHost), srcDevice, ByteCount);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  SOFTCUDA_ENTER(kUncaptured, dstDevice, srcDevice, ByteCount);
  return copy_sync(dstDevice, srcDevice, ByteCount);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  SOFTCUDA_ENTER(kUncaptured, dst, src, ByteCount);
  return copy_sync(dst, src, ByteCount);
}

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  SOFTCUDA_ENTER(kUncaptured, dstDevice, uc, N);
  return set_sync(dstDevice, uc, N);
}

CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned ui, size_t N) {
  SOFTCUDA_ENTER(kUncaptured, dstDevice, ui, N);
  return set_sync(dstDevice, ui, N);
}

}  // extern "C"
