// SPDX-License-Identifier: Apache-2.0
#include "cuda/streams.hpp"

#include <new>

namespace tern::cuda {
namespace {

constexpr size_t kMostIdle = 16;
constexpr size_t kPage = 4096, kLine = 64;
constexpr size_t kRooms = 8;

}  // namespace

bool Stream::ask(const Driver& driver) noexcept {
  if (word == nullptr) return false;
  if (driver.cuStreamWriteValue32_v2(handle, word_at, asked + 1, 0) != CUDA_SUCCESS) return false;
  ++asked;
  return true;
}

Stream* Streams::idle() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (idle_.empty()) return nullptr;
  Stream* const stream = idle_.back();
  idle_.pop_back();
  return stream;
}

Stream* Streams::make(CUresult* error) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  int least = 0, greatest = 0;
  (void)driver_.cuCtxGetStreamPriorityRange(&least, &greatest);
  CUstream handle = nullptr;
  *error = driver_.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, greatest);
  if (*error != CUDA_SUCCESS) return nullptr;
  try {
    if (idle_.capacity() == 0) idle_.reserve(kMostIdle);
    if (ended_.empty()) {
      ended_.reserve(all_.size() + 1);
      ended_.push_back(&all_.emplace_back());
    }
    Stream* const stream = ended_.back();
    ended_.pop_back();
    stream->handle = handle;
    if (stream->word == nullptr) give_word(stream);
    return stream;
  } catch (const std::bad_alloc&) {
    (void)driver_.cuStreamDestroy_v2(handle);
    *error = CUDA_ERROR_OUT_OF_MEMORY;
    return nullptr;
  }
}

// Streams beyond the first page have no word.
void Streams::give_word(Stream* stream) noexcept {
  if (driver_.cuStreamWriteValue32_v2 == nullptr || words_ == kPage / kLine) return;
  if (page_ == nullptr) {
    void* page = nullptr;
    if (driver_.cuMemHostAlloc(&page, kPage + kRooms * Stream::kRoom,
                               CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) !=
        CUDA_SUCCESS)
      return;
    if (driver_.cuMemHostGetDevicePointer_v2(&page_at_, page, 0) != CUDA_SUCCESS) {
      (void)driver_.cuMemFreeHost(page);
      return;
    }
    page_ = static_cast<std::byte*>(page);
  }
  if (words_ < kRooms) {
    const size_t at = kPage + words_ * Stream::kRoom;
    stream->room = page_ + at;
    stream->room_at = page_at_ + at;
  }
  const size_t offset = words_++ * kLine;
  stream->word = new (page_ + offset) std::atomic<uint32_t>(0);
  stream->word_at = page_at_ + offset;
}

bool Streams::give_back(Stream* stream) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (idle_.size() >= kMostIdle) return false;
  idle_.push_back(stream);
  return true;
}

// An ended stream may still write its word, so no other stream may reuse the word.
void Streams::end(Stream* stream) noexcept {
  (void)driver_.cuStreamDestroy_v2(stream->handle);
  stream->handle = nullptr;
  stream->word = nullptr;
  stream->room = nullptr;
  const std::lock_guard<std::mutex> guard(mutex_);
  ended_.push_back(stream);
}

void Streams::destroy() noexcept {
  for (const Stream* stream : idle_) (void)driver_.cuStreamDestroy_v2(stream->handle);
  if (page_ != nullptr) (void)driver_.cuMemFreeHost(page_);
  forget();
}

void Streams::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  idle_.clear();
  page_ = nullptr;
}

}  // namespace tern::cuda
