// SPDX-License-Identifier: Apache-2.0
// Stage: shared memory for the exchange of small blocks of a file between the ranks of a host.
// In each round the stage holds a range of the file in the order of the file, with a domain per
// rank. A rank copies its blocks to their places, and the owner of a domain makes the system calls.
// Two halves serve alternate rounds.
// Lifetime: the file. See: collectives.hpp (the meetings between copies and system calls).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "base/shared_file.hpp"
#include "io/transfer.hpp"

namespace tern::io {

/// The rounds of one collective transfer, equal on all ranks.
struct Rounds {
  int64_t first = 0, last = 0;  // bytes of the file
  int64_t domain = 0;           // bytes of a rank in a round
  int ranks = 1;
  int shift = 0;  // log2 of the bytes per byte of the map

  [[nodiscard]] int64_t range() const noexcept { return domain * ranks; }
  [[nodiscard]] int64_t count() const noexcept { return (last - first + range() - 1) / range(); }
  [[nodiscard]] int64_t begin_of(int64_t round) const noexcept { return first + round * range(); }
};

class Stage {
 public:
  [[nodiscard]] bool valid() const noexcept { return memory_.valid(); }
  /// Makes the memory, for `ranks` ranks of `bytes` each. Throws Error.
  void make(int ranks, int64_t bytes);
  [[nodiscard]] FileOffer offer() const noexcept { return offered_.offer(); }
  /// Throws Error.
  void open(const FileOffer& offer, int owner, int ranks, int64_t bytes);
  /// All ranks have opened the memory.
  void close_offer() noexcept;

  [[nodiscard]] Rounds plan(int64_t first, int64_t last, uint64_t bits) const noexcept;
  /// Copies this rank's blocks of the round into the stage, and marks them in the map.
  [[nodiscard]] Failure fill(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                             const Memory& memory, size_t bytes) noexcept;
  /// Writes the marked bytes of a rank's domain, and clears the map.
  [[nodiscard]] Failure flush(const Rounds& rounds, int64_t round, int rank, const RawFile& file,
                              FileWindow& window, const Ways& ways, bool writes) noexcept;
  /// Reads a rank's domain.
  [[nodiscard]] Failure load(const Rounds& rounds, int64_t round, int rank,
                             const RawFile& file) noexcept;
  /// Copies this rank's blocks of the round out of the stage. *done gets the bytes in front of the
  /// end of the file.
  [[nodiscard]] Failure take(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                             const Memory& memory, size_t bytes, size_t* done) noexcept;

 private:
  struct Piece;  // a rank's packed bytes of a round
  [[nodiscard]] std::byte* half(int64_t round) const noexcept;
  /// Behind both halves: data of earlier transfers with larger domains must not lie in the map.
  [[nodiscard]] std::byte* map(int64_t round) const noexcept;
  [[nodiscard]] std::atomic<int64_t>& end_of(int64_t round, int rank) const noexcept;

  Fd fd_;
  OfferedFile offered_;
  Mapping memory_;
  int ranks_ = 0;
  int64_t bytes_ = 0, head_ = 0;
};

}  // namespace tern::io
