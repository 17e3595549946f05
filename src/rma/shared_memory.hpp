// SPDX-License-Identifier: Apache-2.0
// SharedMemory: a window's memory shared by the ranks of a host: a control block per rank, and the
// data of windows allocated by the library.
// Why: all ranks map a memfd and close the descriptor. A window leaves no name, no descriptor, and
// nothing after a kill. Pages are placed by the program's first touch. See: rma/create.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "base/shared_file.hpp"

namespace tern::rma {

/// The layout, equal on all ranks of the host.
class Plan {
 public:
  /// `sizes`: bytes of each rank's memory, in rank order; `ranks`: the window's size. `contiguous`
  /// packs the parts without gaps. `behind`: extra bytes after each control block. Throws
  /// Error(MPI_ERR_NO_MEM) if the total exceeds the address space.
  Plan(const std::vector<int64_t>& sizes, int ranks, bool contiguous, size_t alignment,
       size_t behind);
  [[nodiscard]] size_t bytes() const noexcept { return end_; }
  [[nodiscard]] size_t control(size_t local) const noexcept { return local * control_bytes_; }
  [[nodiscard]] size_t memory(size_t local) const noexcept { return places_[local]; }

 private:
  size_t control_bytes_, end_ = 0;
  std::vector<size_t> places_;
};

/// Created by one rank, which keeps the file until the others have mapped it.
struct MadeFile {
  Fd fd;
  OfferedFile offered;
};
[[nodiscard]] MadeFile make_shared(size_t bytes, OfferedFile::Keep keep);
/// Throw Error.
[[nodiscard]] Mapping map_shared(const FileOffer& offer, int owner, size_t bytes);
[[nodiscard]] Mapping map_shared(const Fd& fd, size_t bytes);
/// Requests huge pages for large memory.
void advise(std::byte* memory, size_t bytes) noexcept;

}  // namespace tern::rma
