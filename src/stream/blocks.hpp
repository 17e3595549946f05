// SPDX-License-Identifier: Apache-2.0
// Blocks: a buffer of a collective as blocks, of which each pass moves a part to places in a half.
// Why: blocks that follow each other, blocks of different sizes and a single one are moved alike.
// Lifetime, threads: as Area.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "stream/area.hpp"

namespace tern::stream {

/// The part of every block that one pass moves: [offset, offset + most), as far as the block goes.
struct PartOfBlocks {
  size_t offset, most;
};

class Blocks {
 public:
  Blocks() = default;
  /// `count` blocks of a side as the program gave it. Throws Error.
  Blocks(core::Process& process, const Stream* stream, const coll::Side& side, int count);
  /// Blocks of so many bytes, which follow each other in the packed form of a side's elements.
  Blocks(Area all, std::vector<size_t> bytes);

  [[nodiscard]] bool there() const noexcept { return !bytes_.empty(); }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(bytes_.size()); }
  [[nodiscard]] size_t bytes(int block) const noexcept {
    return bytes_[static_cast<size_t>(block)];
  }
  [[nodiscard]] size_t most_bytes() const noexcept;
  /// Of one block, as far as it goes; and of all in front of it.
  [[nodiscard]] size_t bytes(int block, const PartOfBlocks& part) const noexcept;
  [[nodiscard]] size_t place(int block, const PartOfBlocks& part) const noexcept;

  /// To or from `here`, one behind the other.
  void copy_in(Track& track, const PartOfBlocks& part, std::byte* here) const noexcept;
  void copy_out(Track& track, const PartOfBlocks& part, const std::byte* here) const noexcept;
  [[nodiscard]] int take(const PartOfBlocks& part, std::byte* here) const noexcept;
  [[nodiscard]] int give(const PartOfBlocks& part, const std::byte* here) const noexcept;
  /// Of one block alone, to or from `here`.
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
  /// In the device's memory, all of one size and equally far apart.
  [[nodiscard]] std::byte* rows() const noexcept;

  std::vector<Area> areas_;  // one of all, or one of each
  std::vector<size_t> bytes_, starts_;
  bool equal_ = false;
};

}  // namespace tern::stream
