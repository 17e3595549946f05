// SPDX-License-Identifier: Apache-2.0
#include "io/mapping.hpp"

#include <algorithm>

#include "io/file_window.hpp"
#include "io/scratch.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

Failure copy(const View& view, int64_t first, const Memory& memory, size_t offset, size_t bytes,
             std::byte* window, int64_t origin) noexcept {
  if (memory.block() != nullptr) {
    view.scatter(first, static_cast<int64_t>(bytes), memory.block() + offset, window, origin);
    return {};
  }
  std::byte* const packed = scratch(Scratch::kPacked);
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

Failure write_mapped(const Part& part, const Memory& memory, size_t offset, size_t bytes,
                     size_t* done) noexcept {
  const View& view = part.view;
  const int64_t end = part.first + static_cast<int64_t>(bytes);
  for (int64_t next = part.first; next < end;) {
    const int64_t low = view.at(next);
    const int64_t stop = std::min(end, view.packed_before(low + FileWindow::kBytes, next));
    FileWindow::Range range;
    if (Failure failed = part.window.map(part.file, low, view.end_of(next, stop - next), &range))
      return failed;
    if (!range.valid()) return {};
    if (Failure failed = copy(view, next, memory, offset + *done, static_cast<size_t>(stop - next),
                              range.memory(), low))
      return failed;
    *done += static_cast<size_t>(stop - next);
    next = stop;
  }
  return {};
}

}  // namespace tern::io
