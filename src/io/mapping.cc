// SPDX-License-Identifier: Apache-2.0
#include "io/mapping.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "io/scratch.hpp"
#include "mpi.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tern::io {
namespace {

constexpr int64_t kPage = 4096, kWindow = int64_t{64} << 20;

/// Returns a failure without disk space. Sets *refused if the system has no fallocate.
Failure reserve(const RawFile& file, int64_t low, int64_t high, bool* refused) noexcept {
  const off_t hole = ::lseek(file.fd(), low, SEEK_HOLE);
  if (hole >= high) return {};
  return file.allocate(low, high - low, refused);
}

Failure copy(const View& view, int64_t first, const Memory& memory, size_t offset, size_t bytes,
             std::byte* window, int64_t origin) noexcept {
  if (memory.block() != nullptr) {
    view.scatter(first, static_cast<int64_t>(bytes), memory.block() + offset, window, origin);
    return {};
  }
  std::byte* const packed = scratch(1);
  if (packed == nullptr) return failure(MPI_ERR_NO_MEM, "no memory to pack data");
  while (bytes > 0) {
    const size_t some = std::min(bytes, kScratchBytes);
    if (Failure failed = memory.get(offset, packed, some)) return failed;
    view.scatter(first, static_cast<int64_t>(some), packed, window, origin);
    first += static_cast<int64_t>(some);
    offset += some;
    bytes -= some;
  }
  return {};
}

}  // namespace

Failure map_range(const RawFile& file, int64_t low, int64_t high, Mapping* window) noexcept {
  bool refused = false;
  if (Failure failed = reserve(file, low, high, &refused)) return failed;
  if (refused) return {};
  const int64_t from = page_of(low);
  const auto bytes = static_cast<size_t>(page_of(high + kPage - 1) - from);
  void* const found = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), from);
  if (found == MAP_FAILED) return {};
  *window = Mapping(found, bytes);
  int called = -1;
  do called = ::madvise(found, bytes, MADV_POPULATE_WRITE);
  while (called != 0 && errno == EINTR);
  if (called != 0) window->reset();
  return {};
}

Failure write_mapped(const Part& part, const Memory& memory, size_t offset, size_t bytes,
                     size_t* done) noexcept {
  const View& view = part.view;
  const int64_t end = part.first + static_cast<int64_t>(bytes);
  for (int64_t next = part.first; next < end;) {
    const int64_t low = view.at(next);
    const int64_t stop = std::min(end, view.packed_before(page_of(low) + kWindow));
    Mapping window;
    if (Failure failed = map_range(part.file, low, view.end_of(next, stop - next), &window))
      return failed;
    if (!window.valid()) return {};
    if (Failure failed = copy(view, next, memory, offset + *done, static_cast<size_t>(stop - next),
                              window.data(), page_of(low)))
      return failed;
    *done += static_cast<size_t>(stop - next);
    next = stop;
  }
  return {};
}

}  // namespace tern::io
