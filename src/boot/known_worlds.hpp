// SPDX-License-Identifier: Apache-2.0
// KnownWorlds: each rank lists the other worlds known to it, and mpirun counts the ranks of all
// worlds. Why: mpirun ends connected worlds together, and ranks leave cores to more ranks than
// cores.
// Lifetime: a SharedJob's memory. Threads: any process at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::boot {

class KnownWorlds {
 public:
  KnownWorlds() = default;
  // `memory` has bytes_for(size) bytes of zeros, aligned to 64.
  KnownWorlds(std::byte* memory, int size) noexcept : memory_(memory), size_(size) {}
  static std::size_t bytes_for(int size) noexcept;

  // Worlds are hashes of job ids. A rank with more than kMost worlds knows every world.
  static constexpr std::size_t kMost = 3;
  void set(int rank, const std::vector<std::uint64_t>& worlds) const noexcept;
  [[nodiscard]] bool has(int rank, std::uint64_t world) const noexcept;
  // Whether the rank has ever known a world.
  [[nodiscard]] bool has_met(int rank) const noexcept;

  void set_crowd(int ranks) const noexcept;
  [[nodiscard]] int crowd() const noexcept;

 private:
  struct Header;
  struct List;
  [[nodiscard]] Header& header() const noexcept;
  [[nodiscard]] List& list(int rank) const noexcept;

  std::byte* memory_ = nullptr;
  int size_ = 0;
};

}  // namespace tern::boot
