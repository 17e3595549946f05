// SPDX-License-Identifier: Apache-2.0
// Writes of small blocks through a shared mapping of the file.
// Safety: the range has its disk space (fallocate) and its pages (MADV_POPULATE_WRITE, Linux 5.14)
// before the first store, so a full disk is an error and no signal. A process that truncates the
// file during the copy ends this process with SIGBUS; TERN_IO=plain avoids mappings.
#pragma once

#include "io/transfer.hpp"

namespace tern::io {

/// Maps the pages of bytes [low, high) of the file; no mapping if the kernel refuses.
[[nodiscard]] Failure map_range(const RawFile& file, int64_t low, int64_t high,
                                Mapping* window) noexcept;
[[nodiscard]] inline int64_t page_of(int64_t offset) noexcept { return offset & -4096; }

/// *done < bytes if the kernel refuses a mapping; the rest needs write().
[[nodiscard]] Failure write_mapped(const Part& part, const Memory& memory, size_t offset,
                                   size_t bytes, size_t* done) noexcept;

/// Calls copy(memory of the range) with the range mapped; *mapped is false if the kernel refuses.
template <class Copy>
[[nodiscard]] Failure copy_mapped(const RawFile& file, int64_t low, int64_t high, Copy&& copy,
                                  bool* mapped) noexcept {
  *mapped = false;
  const int64_t from = page_of(low);
  Mapping window;
  if (Failure failed = map_range(file, low, high, &window)) return failed;
  if (!window.valid()) return {};
  copy(window.data() + (low - from));
  *mapped = true;
  return {};
}

}  // namespace tern::io
