// SPDX-License-Identifier: Apache-2.0
// Direct: flat collectives whose slots hold addresses: data is copied straight from the others'
// buffers. What packs data first throws std::bad_alloc.
// Lifetime: one call. Threads: under the channel's lock. See: coll/flat/README.md.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/flat/parts.hpp"

namespace tern::coll {

class Direct final : public Parts {
 public:
  using Parts::Parts;
  void allgather();
  void alltoall();
  void reduce(bool all);
  void reduce_scatter();

 private:
  void post_address(const void* address);
  /// The data, or a copy of it `aside` where the others cannot read it.
  const std::byte* for_others(const std::byte* data, size_t bytes, std::vector<std::byte>& aside);
  /// Bytes at an offset from the address that the rank has posted; awaits it even for none.
  void get(int rank, void* to, size_t offset, size_t bytes);
  /// Gets block `theirs` of rank's data into own block `block`.
  void get_block(int rank, int theirs, int block, std::vector<std::byte>& aside);
  /// Where the blocks of a view lie one after the other: in place, or packed into `aside`.
  [[nodiscard]] static const std::byte* dense_blocks(const View& view, int first, int blocks,
                                                     std::vector<std::byte>& aside);
  /// Blocks one after the other in `aside`.
  static const std::byte* packed_blocks(const View& view, int first, int blocks,
                                        std::vector<std::byte>& aside);
  void reduce_between_two(bool all);
  void reduce_slice(const Range& own, std::byte* to);
  void await_ends();
};

}  // namespace tern::coll
