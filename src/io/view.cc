// SPDX-License-Identifier: Apache-2.0
#include "io/view.hpp"

#include <algorithm>
#include <limits>

namespace tern::io {
namespace {

using core::Datatype;

void* as_address(int64_t offset) noexcept { return reinterpret_cast<void*>(offset); }

void check_places(const Datatype& filetype, const core::LayoutOrder& order, bool writes) {
  if (filetype.true_lb() < 0)
    throw Error(MPI_ERR_IO, strf("filetype has a displacement of %lld bytes, but displacements of "
                                 "a view must not be negative",
                                 static_cast<long long>(filetype.true_lb())));
  if (order.falls)
    throw Error(MPI_ERR_IO,
                "the displacements of filetype fall, but displacements of a view must not fall");
  if (order.overlaps && writes)
    throw Error(MPI_ERR_IO,
                "blocks of filetype overlap, but the file is open for writing; open the file with "
                "MPI_MODE_RDONLY, or pass a filetype without overlaps");
}

}  // namespace

View::View(int64_t disp, Datatype& etype, Datatype& filetype,
           std::shared_ptr<const Representation> representation, bool writes)
    : disp_(disp),
      etype_(&etype),
      filetype_(&filetype),
      representation_(std::move(representation)),
      tile_(representation_->in_file(filetype)) {
  etype_bytes_ = representation_->bytes_of(etype);
  size_ = tile_->size();
  extent_ = tile_->extent();
  if (size_ > 0 && (etype_bytes_ == 0 || size_ % etype_bytes_ != 0))
    throw Error(MPI_ERR_ARG,
                strf("filetype has %lld bytes of data, which is not a multiple of the "
                     "%lld bytes of etype",
                     static_cast<long long>(size_), static_cast<long long>(etype_bytes_)));
  order_ = core::order_of(tile_->layout());
  tiles_rise_ = core::order_of_copies(tile_->layout(), extent_).rises();
  check_places(*tile_, order_, writes);
  dense_ = tile_->contiguous() || size_ == 0;
  mean_block_ = dense_              ? std::numeric_limits<int64_t>::max()
                : order_.blocks > 0 ? size_ / order_.blocks
                                    : 0;
}

Failure View::check(int64_t first, int64_t bytes) const noexcept {
  int64_t end = 0, distance = 0;
  const bool fits =
      !__builtin_add_overflow(first, bytes, &end) &&
      (size_ == 0 ||
       (!__builtin_mul_overflow(end / size_ + 1, extent_, &distance) &&
        !__builtin_add_overflow(distance, disp_, &distance) &&
        !__builtin_add_overflow(
            distance, std::max<int64_t>(tile_->true_extent(), 0) + tile_->true_lb(), &distance)));
  if (fits) return {};
  return failure(MPI_ERR_ARG,
                 "%lld bytes of data at byte %lld of the view exceed the 64 bits of a "
                 "file offset",
                 static_cast<long long>(bytes), static_cast<long long>(first));
}

int64_t View::at(int64_t packed) const noexcept {
  if (dense_) return disp_ + tile_->true_lb() + packed;
  iovec block{};
  size_t covered = 0;
  (void)blocks(packed, 1, &block, 1, &covered);
  return reinterpret_cast<intptr_t>(block.iov_base);
}

int64_t View::packed_before(int64_t offset, int64_t first) const noexcept {
  if (size_ == 0) return 0;
  const int64_t low = disp_ + tile_->true_lb();
  if (offset <= low) return 0;
  if (dense_) return offset - low;
  const int64_t tile = tiles_rise_ ? (offset - low) / extent_ : first / size_;
  return tile * size_ + core::packed_before(tile_->layout(), offset - disp_ - tile * extent_);
}

size_t View::blocks(int64_t first, int64_t bytes, iovec* out, size_t most,
                    size_t* covered) const noexcept {
  return tile_->pieces(as_address(disp_), tiles(first + bytes), static_cast<size_t>(first),
                       static_cast<size_t>(bytes), out, most, covered);
}

void View::scatter(int64_t first, int64_t bytes, const std::byte* packed, std::byte* memory,
                   int64_t origin) const noexcept {
  void* const base = as_address(reinterpret_cast<intptr_t>(memory) - origin + disp_);
  tile_->unpack(base, tiles(first + bytes), static_cast<size_t>(first), packed,
                static_cast<size_t>(bytes));
}

void View::gather(int64_t first, int64_t bytes, std::byte* packed, const std::byte* memory,
                  int64_t origin) const noexcept {
  const void* const base = as_address(reinterpret_cast<intptr_t>(memory) - origin + disp_);
  tile_->pack(base, tiles(first + bytes), static_cast<size_t>(first), packed,
              static_cast<size_t>(bytes));
}

}  // namespace tern::io
