// SPDX-License-Identifier: Apache-2.0
// View: a rank's visible bytes of a file (MPI-5.0 section 14.3), as packed bytes.
// Packed byte p is the p-th data byte of the tiled filetype; offsets of etypes are multiples of
// etype_bytes(). Immutable; transfers share the view.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.hpp"
#include "core/datatype.hpp"
#include "core/datatype_order.hpp"
#include "io/datarep.hpp"

namespace tern::io {

class View {
 public:
  /// `etype` and `filetype` are the caller's; the view keeps them for MPI_File_get_view.
  /// Throws Error: MPI_ERR_ARG, MPI_ERR_IO (displacements fall, or overlap and `writes`).
  View(int64_t disp, core::Datatype& etype, core::Datatype& filetype,
       std::shared_ptr<const Representation> representation, bool writes);

  [[nodiscard]] int64_t disp() const noexcept { return disp_; }
  [[nodiscard]] core::Datatype& etype() const noexcept { return *etype_; }
  [[nodiscard]] core::Datatype& filetype() const noexcept { return *filetype_; }
  [[nodiscard]] const Representation& representation() const noexcept { return *representation_; }
  [[nodiscard]] int64_t etype_bytes() const noexcept { return etype_bytes_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// All data is one block.
  [[nodiscard]] bool dense() const noexcept { return dense_; }
  /// Whether the displacements of these bytes rise, as packed_before() requires. A tile may rise
  /// although the next tile begins before the end of the tile.
  [[nodiscard]] bool rises(int64_t first, int64_t bytes) const noexcept {
    return order_.rises() &&
           (tiles_rise_ || bytes == 0 || first / size_ == (first + bytes - 1) / size_);
  }
  /// The bytes of a block of the file, on average.
  [[nodiscard]] int64_t mean_block() const noexcept { return mean_block_; }
  /// The bytes from one tile to the next, for each data byte.
  [[nodiscard]] int64_t sparsity() const noexcept { return size_ == 0 ? 1 : extent_ / size_; }
  /// The lowest set bit divides all displacements and lengths in the file.
  [[nodiscard]] uint64_t alignment_bits() const noexcept {
    return order_.bits | static_cast<uint64_t>(disp_) | static_cast<uint64_t>(extent_);
  }

  /// check() returns an error if packed bytes [first, first + bytes) exceed 64-bit file offsets.
  [[nodiscard]] Failure check(int64_t first, int64_t bytes) const noexcept;
  /// The file offset of a packed byte.
  [[nodiscard]] int64_t at(int64_t packed) const noexcept;
  /// The file offset behind the last of these bytes; bytes > 0.
  [[nodiscard]] int64_t end_of(int64_t first, int64_t bytes) const noexcept {
    return at(first + bytes - 1) + 1;
  }
  /// The packed bytes in front of file offset `offset`, for a range that rises and begins at
  /// packed byte `first`.
  [[nodiscard]] int64_t packed_before(int64_t offset, int64_t first) const noexcept;
  /// The blocks in the file of packed bytes [first, first + bytes), as far as `most` blocks reach:
  /// iov_base is a file offset. `covered` receives the bytes of these blocks.
  size_t blocks(int64_t first, int64_t bytes, iovec* out, size_t most,
                size_t* covered) const noexcept;
  /// scatter() copies packed bytes to memory that holds file offsets from `origin` on; gather()
  /// copies in the other direction.
  void scatter(int64_t first, int64_t bytes, const std::byte* packed, std::byte* memory,
               int64_t origin) const noexcept;
  void gather(int64_t first, int64_t bytes, std::byte* packed, const std::byte* memory,
              int64_t origin) const noexcept;

 private:
  [[nodiscard]] MPI_Count tiles(int64_t end) const noexcept { return end / size_ + 1; }

  const int64_t disp_;
  const core::Ref<core::Datatype> etype_, filetype_;
  const std::shared_ptr<const Representation> representation_;
  core::Ref<core::Datatype> tile_;  // the filetype with the sizes of the representation
  int64_t etype_bytes_ = 1, size_ = 0, extent_ = 0, mean_block_ = 0;
  bool dense_ = false, tiles_rise_ = true;
  core::LayoutOrder order_;
};

}  // namespace tern::io
