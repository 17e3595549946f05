// SPDX-License-Identifier: Apache-2.0
#include "cuda/layout_images.hpp"

#include <cstring>
#include <new>

namespace tern::cuda {

LayoutImages::~LayoutImages() {
  for (const Image& image : images_) free(image);
}

void LayoutImages::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  images_.clear();
  prepared_ = false;
}

void LayoutImages::free(const Image& image) noexcept {
  if (image.copied != nullptr) (void)driver_.cuEventDestroy_v2(image.copied);
  if (image.pinned != nullptr) (void)driver_.cuMemFreeHost(image.pinned);
  if (image.at != 0) (void)driver_.cuMemFree_v2(image.at);
}

LayoutImages::Image* LayoutImages::own(const Program& program) noexcept {
  for (Image& image : images_)
    if (image.owner.lock() == program) return &image;
  return nullptr;
}

LayoutImages::Image* LayoutImages::idle(size_t bytes) noexcept {
  Image* found = nullptr;
  for (Image& image : images_)
    if (image.owner.expired() && image.bytes >= bytes &&
        (found == nullptr || image.bytes < found->bytes))
      found = &image;
  return found;
}

CUresult LayoutImages::make(size_t bytes, Image** made) noexcept {
  Image image;
  image.bytes = bytes;
  CUresult result = driver_.cuMemAlloc_v2(&image.at, bytes);
  if (result == CUDA_SUCCESS) result = driver_.cuMemHostAlloc(&image.pinned, bytes, 0);
  if (result == CUDA_SUCCESS)
    result = driver_.cuEventCreate(&image.copied, CU_EVENT_DISABLE_TIMING);
  try {
    if (result == CUDA_SUCCESS) *made = &images_.emplace_back(image);
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) free(image);
  return result;
}

void LayoutImages::prepare() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (prepared_) return;
  prepared_ = true;
  constexpr struct {
    size_t bytes;
    int count;
  } kSpare[] = {{16 << 10, 8}, {512 << 10, 1}};
  Image* made = nullptr;
  for (const auto& spare : kSpare)
    for (int i = 0; i < spare.count; ++i) (void)make(spare.bytes, &made);
}

CUresult LayoutImages::place(const Program& program, Image** image) noexcept {
  *image = own(program);
  if (*image != nullptr) return CUDA_SUCCESS;
  const size_t bytes = program->image().size_bytes();
  *image = idle(bytes);
  const CUresult result = *image != nullptr ? CUDA_SUCCESS : make(bytes, image);
  if (result != CUDA_SUCCESS) return result;
  (*image)->owner = program;
  (*image)->under_way = (*image)->there = false;
  std::memcpy((*image)->pinned, program->image().data(), bytes);
  return CUDA_SUCCESS;
}

CUresult LayoutImages::prepare(const Program& program) noexcept {
  if (program == nullptr || program->inlined()) return CUDA_SUCCESS;
  const std::lock_guard<std::mutex> guard(mutex_);
  Image* image = nullptr;
  return place(program, &image);
}

bool LayoutImages::reserve(const Program& program) noexcept {
  if (program == nullptr || program->inlined()) return true;
  const std::lock_guard<std::mutex> guard(mutex_);
  Image* image = nullptr;
  return own(program) != nullptr ||
         (idle(program->image().size_bytes()) != nullptr && place(program, &image) == CUDA_SUCCESS);
}

CUresult LayoutImages::find(const Program& program, CUstream stream, const void** at) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  Image* image = nullptr;
  CUresult result = place(program, &image);
  if (result == CUDA_SUCCESS && !image->there)
    result = bring(*image, program->image().size_bytes(), stream);
  if (result == CUDA_SUCCESS) *at = reinterpret_cast<const void*>(image->at);
  return result;
}

// A stream does not wait for another stream's copy, which may be queued behind waits for other
// ranks. Each stream repeats the copy until the first copy has ended. Captured copies run at each
// replay.
CUresult LayoutImages::bring(Image& image, size_t bytes, CUstream stream) noexcept {
  if (image.under_way && driver_.cuEventQuery(image.copied) == CUDA_SUCCESS) {
    image.there = true;
    return CUDA_SUCCESS;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_.cuStreamIsCapturing != nullptr) (void)driver_.cuStreamIsCapturing(stream, &status);
  CUresult result = driver_.cuMemcpyHtoDAsync_v2(image.at, image.pinned, bytes, stream);
  if (result != CUDA_SUCCESS || image.under_way || status != CU_STREAM_CAPTURE_STATUS_NONE)
    return result;
  result = driver_.cuEventRecord(image.copied, stream);
  image.under_way = result == CUDA_SUCCESS;
  return result;
}

}  // namespace tern::cuda
