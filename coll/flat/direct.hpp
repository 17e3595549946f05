// SPDX-License-Identifier: Apache-2.0
// Direct: flat collectives with addresses in slots; ranks copy straight from the peers' buffers.
// Direct has an epoch for the inputs, an epoch for reduced slices with readers, and an empty epoch:
// buffers return to the user once all ranks have posted.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/flat/parts.hpp"

namespace tern::coll {

class Direct final : public Parts {
 public:
  Direct(const Operation& operation, Slots& slots) noexcept;

  /// prepare() packs or copies data before the first epoch, since peers wait from then on. Throws
  /// std::bad_alloc.
  void prepare();
  void give_up(int code) noexcept { code_ = code; }

  [[nodiscard]] Sources sources(int64_t /*epoch*/) const noexcept override { return {0, ranks_}; }
  [[nodiscard]] bool writes(int64_t /*epoch*/) const noexcept override { return true; }
  [[nodiscard]] bool can_write(int64_t epoch, int64_t read) const noexcept override {
    return epoch <= read;
  }
  void write(int64_t epoch) override;
  void read(int64_t epoch) override;

 private:
  using Post = uint64_t;
  [[nodiscard]] bool between_two() const noexcept;
  [[nodiscard]] bool has_output() const noexcept;
  void prepare_reduction();
  void prepare_reduce_scatter();
  void post(const std::byte* data);
  /// for_others() returns a copy in packed_ if peers cannot read the data.
  const std::byte* for_others(const std::byte* data, size_t bytes);
  /// get() awaits the peer's post even for 0 bytes.
  void get(int rank, void* to, size_t offset, size_t bytes);
  [[nodiscard]] TERN_COLD int cannot_get(int rank, uint64_t address, size_t bytes,
                                         int error) noexcept;
  void get_block(int rank, int theirs, int block);
  [[nodiscard]] const std::byte* dense_blocks(const View& view, int first, int blocks);
  const std::byte* packed_blocks(const View& view, int first, int blocks);
  void read_inputs();
  void reduce_slice(const ElementRange& own, std::byte* to);
  void read_slices();
  void end();

  const std::byte* input_ = nullptr;  // read by peers
  ElementRange own_{0, 0};            // reduced by this rank
  std::byte* reduced_ = nullptr;      // results for peers
  std::vector<std::byte> packed_, aside_;
};

}  // namespace tern::coll
