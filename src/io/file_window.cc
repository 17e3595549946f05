// SPDX-License-Identifier: Apache-2.0
#include "io/file_window.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tern::io {
namespace {

constexpr int64_t kFilePage = 4096;
int64_t page_at(int64_t offset) noexcept { return offset & -kFilePage; }
int64_t page_behind(int64_t offset) noexcept { return page_at(offset + kFilePage - 1); }

Mapping map_file(const RawFile& file, int64_t from, int64_t bytes) noexcept {
  void* const found = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                             MAP_SHARED, file.fd(), from);
  return found == MAP_FAILED ? Mapping() : Mapping(found, static_cast<size_t>(bytes));
}

bool populate(std::byte* memory, int64_t bytes) noexcept {
  int called = -1;
  do called = ::madvise(memory, static_cast<size_t>(bytes), MADV_POPULATE_WRITE);
  while (called != 0 && errno == EINTR);
  return called == 0;
}

}  // namespace

Failure FileWindow::reserve(const RawFile& file, int64_t low, int64_t high,
                            bool* refused) noexcept {
  int64_t end = 0;
  if (Failure failed = file.size(&end)) return failed;
  if (high <= end && end == settled_.load(std::memory_order_relaxed)) return {};
  Failure failed = high <= end
                       ? file.allocate(low, 1, refused)
                       : file.allocate(std::max(low, end), high - std::max(low, end), refused);
  if (!failed && !*refused) settled_.store(std::max(end, high), std::memory_order_relaxed);
  return failed;
}

std::byte* FileWindow::take(const RawFile& file, int64_t low, int64_t high) noexcept {
  const bool covers =
      mapping_.valid() && low >= from_ && high <= from_ + static_cast<int64_t>(mapping_.size());
  if (!covers) {
    mapping_.reset();
    from_ = low & -kBytes;
    mapping_ = map_file(file, from_, page_behind(high - from_) > kBytes ? 2 * kBytes : kBytes);
  }
  return mapping_.valid() ? mapping_.data() + (page_at(low) - from_) : nullptr;
}

Failure FileWindow::map(const RawFile& file, int64_t low, int64_t high, Range* range) noexcept {
  bool refused = false;
  if (Failure failed = reserve(file, low, high, &refused); failed || refused) return failed;
  const int64_t bytes = page_behind(high) - page_at(low);
  std::byte* pages = nullptr;
  range->lock_ = std::unique_lock<std::mutex>(mutex_, std::try_to_lock);
  if (range->lock_.owns_lock()) {
    pages = take(file, low, high);
  } else {
    range->own_ = map_file(file, page_at(low), bytes);
    pages = range->own_.data();
  }
  if (pages == nullptr || !populate(pages, bytes)) return {};
  range->memory_ = pages + (low - page_at(low));
  return {};
}

}  // namespace tern::io
