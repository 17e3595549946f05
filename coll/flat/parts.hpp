// SPDX-License-Identifier: Apache-2.0
// Parts: what one rank does in a flat collective. Longer data go in pieces that a slot holds, a
// turn each. Lifetime: of one call.
#pragma once

#include <vector>

#include "coll/flat/slots.hpp"
#include "coll/flat/view.hpp"
#include "coll/operation.hpp"

namespace tern::coll {

class Parts {
 public:
  Parts(const Operation& operation, Slots& slots) noexcept;

  // move.cc
  void barrier() noexcept;
  void bcast() noexcept;
  void gather() noexcept;
  void scatter() noexcept;
  void allgather() noexcept;
  void alltoall() noexcept;
  // reduce.cc
  void reduce() noexcept;
  void allreduce() noexcept;
  /// In two turns a piece: each rank reduces its slice, then everybody, or the root, reads them.
  void reduce_sliced(bool all) noexcept;
  void reduce_scatter() noexcept;
  /// Of the inputs of ranks 0 to `last`; -1 for none.
  void scan(int last) noexcept;

  // direct.cc: slots hold addresses. Throw std::bad_alloc where data must be packed first.
  void allgather_direct();
  void alltoall_direct();
  void reduce_direct(bool all);
  void reduce_scatter_direct();

  /// The first error class, with fail() text.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  struct Range {
    MPI_Count first, count;  // elements
    [[nodiscard]] MPI_Count end() const noexcept { return first + count; }
  };

  /// Calls turn(offset, bytes) for pieces of [0, total) of at most `most`, at least once.
  template <class Turn>
  void in_pieces(size_t total, size_t most, const Turn& turn) noexcept {
    size_t at = 0;
    do {
      const size_t bytes = std::min(most, total - at);
      slots_.begin(name_);
      turn(at, bytes);
      slots_.end();
      at += bytes;
    } while (at < total);
  }
  /// Pieces of a vector, in elements.
  template <class Turn>
  void in_ranges(MPI_Count total, MPI_Count most, const Turn& turn) noexcept {
    MPI_Count at = 0;
    do {
      const MPI_Count count = std::min(most, total - at);
      turn(Range{at, count});
      at += count;
    } while (at < total);
  }
  [[nodiscard]] MPI_Count elements_of_slot() const noexcept {
    return static_cast<MPI_Count>(slots_.room()) / size_;
  }
  [[nodiscard]] size_t bytes_of(MPI_Count elements) const noexcept {
    return static_cast<size_t>(elements * size_);
  }
  [[nodiscard]] Range slice(MPI_Count total, int of) const noexcept {
    const MPI_Count first = total * of / ranks_, end = total * (of + 1) / ranks_;
    return {first, end - first};
  }

  /// What a rank has posted, which must be so many bytes.
  const std::byte* await(int rank, size_t bytes) noexcept;
  void await_all() noexcept;
  /// Posts the elements of the own input.
  void post(const Range& range) noexcept;
  /// to = what ranks `first` to `last` have posted, reduced in the order of ranks: `range` of their
  /// elements; all have been awaited.
  void reduce_posted(int first, int last, const Range& range, std::byte* to) noexcept;
  void post_address(const void* address) noexcept;
  /// The data, or a copy of it `aside` where the others cannot read it.
  const std::byte* for_others(const std::byte* data, size_t bytes, std::vector<std::byte>& aside);
  /// Bytes at an offset from the address that the rank has posted; awaits it even for none.
  void get(int rank, void* to, size_t offset, size_t bytes) noexcept;
  /// Gets block `theirs` of rank's data into own block `block`.
  void get_block(int rank, int theirs, int block, std::vector<std::byte>& aside);
  /// Where the blocks of a view lie one after the other: in place, or packed into `aside`.
  [[nodiscard]] static const std::byte* dense_blocks(const View& view, int first, int blocks,
                                                     std::vector<std::byte>& aside);
  /// Blocks one after the other in `aside`.
  static const std::byte* packed_blocks(const View& view, int first, int blocks,
                                        std::vector<std::byte>& aside);
  /// Elements of a block of a reduce-scatter: all ranks know all of them.
  [[nodiscard]] MPI_Count length_of(int block) const noexcept {
    const Side& input = operation_.input;
    return input.counts == nullptr ? input.count : input.counts[block];
  }
  void reduce_between_two(bool all);
  void reduce_slice(const Range& own, std::byte* to);
  void await_ends() noexcept;
  void copy_own(int input_block, int output_block) noexcept;

  const Operation& operation_;
  Slots& slots_;
  const char* const name_;
  const int rank_, ranks_, root_;
  View in_, out_;
  MPI_Count size_ = 1;  // of an element
  int code_ = 0;
};

}  // namespace tern::coll
