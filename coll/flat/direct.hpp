// SPDX-License-Identifier: Apache-2.0
// Direct: flat collectives whose slots hold addresses: data is copied straight from the others'
// buffers. An epoch for the inputs, one for what was reduced where others read that, and an empty
// one: who has posted it reads no more, so a buffer is the user's again when all have.
// Lifetime: one call. Threads: under the channel's lock. See: coll/flat/README.md.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/flat/parts.hpp"

namespace tern::coll {

class Direct final : public Parts {
 public:
  Direct(const Operation& operation, Slots& slots) noexcept;

  /// Where data is packed or put aside, it is now. Before the first epoch, which the others await.
  /// Throws std::bad_alloc.
  void prepare();
  /// Instead: this rank has failed.
  void give_up(int code) noexcept { code_ = code; }

  [[nodiscard]] Sources sources(int64_t /*epoch*/) const noexcept override { return {0, ranks_}; }
  [[nodiscard]] bool writes(int64_t /*epoch*/) const noexcept override { return true; }
  [[nodiscard]] bool can_write(int64_t epoch, int64_t read) const noexcept override {
    return epoch <= read;
  }
  void write(int64_t epoch) override;
  void read(int64_t epoch) override;

 private:
  using Post = uint64_t;  // what a slot holds: an address
  [[nodiscard]] bool between_two() const noexcept;
  [[nodiscard]] bool has_output() const noexcept;
  void prepare_reduction();
  void prepare_reduce_scatter();
  void post(const std::byte* data);
  /// The data, or a copy of it in packed_ where the others cannot read it.
  const std::byte* for_others(const std::byte* data, size_t bytes);
  /// Bytes at an offset from the address that the rank has posted; awaits it even for none.
  void get(int rank, void* to, size_t offset, size_t bytes);
  [[nodiscard]] TERN_COLD int cannot_get(int rank, uint64_t address, size_t bytes,
                                         int error) noexcept;
  /// Gets block `theirs` of rank's data into own block `block`.
  void get_block(int rank, int theirs, int block);
  /// Where the blocks of a view lie one after the other: in place, or in packed_.
  [[nodiscard]] const std::byte* dense_blocks(const View& view, int first, int blocks);
  const std::byte* packed_blocks(const View& view, int first, int blocks);
  void read_inputs();
  void reduce_slice(const Range& own, std::byte* to);
  void read_slices();
  void end();

  const std::byte* input_ = nullptr;  // what the others read
  Range own_{0, 0};                   // elements that this rank reduces
  std::byte* reduced_ = nullptr;      // their results, for the others
  std::vector<std::byte> packed_, aside_;
};

}  // namespace tern::coll
