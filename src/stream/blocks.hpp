// SPDX-License-Identifier: Apache-2.0
// Blocks: a collective's buffer as blocks. Each pass moves a part of every block to a place in a
// half of the board. Lifetime, threads: as Area.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "stream/area.hpp"

namespace tern::stream {

/// PartOfBlocks: the part of every block in a pass, [offset, offset + most), clipped to the block.
struct PartOfBlocks {
  size_t offset, most;
};

class CallBlocks {
 public:
  CallBlocks() = default;
  /// The constructor throws Error.
  CallBlocks(core::Process& process, const Stream* stream, const coll::Side& side, int count);
  CallBlocks(Area all, std::vector<size_t> bytes);

  [[nodiscard]] bool there() const noexcept { return !bytes_.empty(); }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(bytes_.size()); }
  [[nodiscard]] size_t bytes(int block) const noexcept {
    return bytes_[static_cast<size_t>(block)];
  }
  [[nodiscard]] size_t most_bytes() const noexcept;
  [[nodiscard]] size_t bytes(int block, const PartOfBlocks& part) const noexcept;
  [[nodiscard]] size_t place(int block, const PartOfBlocks& part) const noexcept;

  void copy_in(Track& track, const PartOfBlocks& part, std::byte* here) const noexcept;
  void copy_out(Track& track, const PartOfBlocks& part, const std::byte* here) const noexcept;
  [[nodiscard]] int take(const PartOfBlocks& part, std::byte* here) const noexcept;
  [[nodiscard]] int give(const PartOfBlocks& part, const std::byte* here) const noexcept;
  void copy_in(Track& track, int block, const PartOfBlocks& part, std::byte* here) const noexcept;
  void copy_out(Track& track, int block, const PartOfBlocks& part,
                const std::byte* here) const noexcept;
  [[nodiscard]] int take(int block, const PartOfBlocks& part, std::byte* here) const noexcept;
  [[nodiscard]] int give(int block, const PartOfBlocks& part, const std::byte* here) const noexcept;

 private:
  [[nodiscard]] const Area& area(int block) const noexcept {
    return areas_[areas_.size() == 1 ? 0 : static_cast<size_t>(block)];
  }
  [[nodiscard]] size_t start(int block) const noexcept {
    return areas_.size() == 1 ? starts_[static_cast<size_t>(block)] : 0;
  }
  /// rows() is the address of blocks in device memory with equal size and pitch, else null.
  [[nodiscard]] std::byte* rows() const noexcept;

  std::vector<Area> areas_;
  std::vector<size_t> bytes_, starts_;
  bool equal_ = false;
};

}  // namespace tern::stream
