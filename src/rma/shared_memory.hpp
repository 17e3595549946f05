// SPDX-License-Identifier: Apache-2.0
// SharedMemory: what the ranks of one host share for a window: a control block each, and, of
// windows that the library allocates, their memory.
// Why: a memfd that all map and no rank keeps open: nothing has a name, nothing is left after a
// kill, and a window costs no descriptor. Pages come with their first touch, which is the
// program's. See: rma/create.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "base/shared_file.hpp"

namespace tern::rma {

/// Where everything is; equal on all ranks that share it.
class Plan {
 public:
  /// `sizes`: bytes of each rank's memory, in their order; `ranks` of the window. Contiguous: each
  /// begins where the one before ends. `behind`: bytes behind each control block. Throws
  /// Error(MPI_ERR_NO_MEM) where it is beyond all memory.
  Plan(const std::vector<int64_t>& sizes, int ranks, bool contiguous, size_t alignment,
       size_t behind);
  [[nodiscard]] size_t bytes() const noexcept { return end_; }
  [[nodiscard]] size_t control(size_t local) const noexcept { return local * control_bytes_; }
  [[nodiscard]] size_t memory(size_t local) const noexcept { return places_[local]; }

 private:
  size_t control_bytes_, end_ = 0;
  std::vector<size_t> places_;
};

/// Made by one rank, which keeps the file until the others have mapped it.
struct MadeFile {
  Fd fd;
  OfferedFile offered;
};
/// Throws Error.
[[nodiscard]] MadeFile make_shared(size_t bytes, OfferedFile::Keep keep);
/// Throws Error.
[[nodiscard]] Mapping map_shared(const FileOffer& offer, int owner, size_t bytes);
[[nodiscard]] Mapping map_shared(const Fd& fd, size_t bytes);
/// Asks for huge pages where the memory is large.
void advise(std::byte* memory, size_t bytes) noexcept;

}  // namespace tern::rma
