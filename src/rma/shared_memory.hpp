// SPDX-License-Identifier: Apache-2.0
// SharedMemory: a window's memory on a host: control blocks, and data allocated by the library.
// Why: all ranks map a memfd and close the descriptor, so nothing is left after a kill.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "base/shared_file.hpp"

namespace tern::rma {

/// The layout, equal on all ranks of the host.
class Plan {
 public:
  /// `sizes`: bytes per rank; `ranks`: the window's size; `behind`: extra bytes per control block.
  /// Throws Error(MPI_ERR_NO_MEM) beyond the address space.
  Plan(const std::vector<int64_t>& sizes, int ranks, bool contiguous, size_t alignment,
       size_t behind);
  [[nodiscard]] size_t bytes() const noexcept { return end_; }
  [[nodiscard]] size_t control(size_t local) const noexcept { return local * control_bytes_; }
  [[nodiscard]] size_t memory(size_t local) const noexcept { return places_[local]; }

 private:
  size_t control_bytes_, end_ = 0;
  std::vector<size_t> places_;
};

/// The maker keeps the file until the others have mapped it.
struct MadeFile {
  Fd fd;
  OfferedFile offered;
};
[[nodiscard]] MadeFile make_shared(size_t bytes, OfferedFile::Keep keep);
[[nodiscard]] Mapping map_shared(const FileOffer& offer, int owner, size_t bytes);
[[nodiscard]] Mapping map_shared(const Fd& fd, size_t bytes);
void advise(std::byte* memory, size_t bytes) noexcept;

}  // namespace tern::rma
