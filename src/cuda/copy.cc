// SPDX-License-Identifier: Apache-2.0
#include "cuda/copy.hpp"

#include <algorithm>
#include <cstdint>

#include "cuda/memory.hpp"

namespace tern::cuda {
namespace {

CUdeviceptr pointer(const void* address) noexcept { return reinterpret_cast<CUdeviceptr>(address); }

size_t bytes_left(const std::byte* address) noexcept {
  const Memory memory = look_up(address);
  return memory.bytes == 0 ? SIZE_MAX
                           : memory.base + memory.bytes - reinterpret_cast<uintptr_t>(address);
}

CUresult copy_in_parts(const Driver& driver, std::byte* to, const std::byte* from, size_t bytes,
                       CUstream stream) noexcept {
  for (size_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min({bytes - done, bytes_left(to + done), bytes_left(from + done)});
    if (part == bytes || part == 0) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result =
        driver.cuMemcpyAsync(pointer(to + done), pointer(from + done), part, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copy(const Driver& driver, void* to, const void* from, size_t bytes,
              CUstream stream) noexcept {
  const CUresult result = driver.cuMemcpyAsync(pointer(to), pointer(from), bytes, stream);
  if (result != CUDA_ERROR_INVALID_VALUE) return result;
  return copy_in_parts(driver, static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
                       bytes, stream);
}

CUresult copy_rows(const Driver& driver, void* to, size_t to_pitch, const void* from,
                   size_t from_pitch, size_t width, size_t rows, CUstream stream) noexcept {
  CUDA_MEMCPY2D what{};
  what.srcMemoryType = what.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  what.srcDevice = pointer(from);
  what.srcPitch = from_pitch;
  what.dstDevice = pointer(to);
  what.dstPitch = to_pitch;
  what.WidthInBytes = width;
  what.Height = rows;
  CUresult result = driver.cuMemcpy2DAsync_v2(&what, stream);
  if (result != CUDA_ERROR_INVALID_VALUE) return result;
  result = CUDA_SUCCESS;
  for (size_t row = 0; row < rows && result == CUDA_SUCCESS; ++row)
    result = copy(driver, static_cast<std::byte*>(to) + row * to_pitch,
                  static_cast<const std::byte*>(from) + row * from_pitch, width, stream);
  return result;
}

}  // namespace tern::cuda
