// SPDX-License-Identifier: Apache-2.0
// Stage: shared memory of a host for the exchange of small blocks of a file between ranks.
// In each round the stage holds a range of the file in the order of the file, with a domain per
// aggregator. A rank copies its blocks to their places, and the aggregators make the system calls.
// Two halves serve alternate rounds. Each unit of the range has a mark; on several hosts,
// HostExchange moves the marked units.
// Lifetime: the file. See: collectives.hpp (the meetings between copies and system calls).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/fd.hpp"
#include "base/shared_file.hpp"
#include "io/transfer.hpp"

namespace tern::io {

/// The rounds of one collective transfer, equal on all ranks. The pieces of the domains alternate.
struct Rounds {
  int64_t first = 0, last = 0;  // bytes of the file
  int64_t begins = 0;           // the page of the first data, perhaps behind `first`
  int64_t piece = 0;            // bytes
  int64_t pieces = 1;           // of a domain in a round
  int domains = 1;
  int shift = 0;  // log2 of the bytes of a unit

  [[nodiscard]] int64_t range() const noexcept { return piece * pieces * domains; }
  [[nodiscard]] int64_t count() const noexcept { return (last - first + range() - 1) / range(); }
  [[nodiscard]] int64_t begin_of(int64_t round) const noexcept { return first + round * range(); }
  [[nodiscard]] int64_t unit() const noexcept { return int64_t{1} << shift; }
  /// The bytes of a round from its begin on.
  [[nodiscard]] int64_t bytes_of(int64_t round) const noexcept {
    return std::min(range(), last - begin_of(round));
  }
  /// Bytes [begin, end) of piece `index` of a domain, from the begin of the round on. The last unit
  /// is whole.
  [[nodiscard]] std::pair<int64_t, int64_t> piece_of(int64_t round, int domain,
                                                     int64_t index) const noexcept {
    const int64_t begin = (index * domains + domain) * piece;
    const int64_t stop = (bytes_of(round) + unit() - 1) & -unit();
    return {begin, std::clamp(stop, begin, begin + piece)};
  }
};

/// Equal on all ranks.
struct StageShape {
  int64_t bytes = 0;  // in both halves, with the marks
  int domains = 1;
  int64_t stripe = 0;  // bytes of a piece, if the file system prefers a size; otherwise 0
  /// The stage may have more domains for no purpose.
  [[nodiscard]] static int most_domains(int64_t bytes) noexcept;
};

class Stage {
 public:
  [[nodiscard]] bool valid() const noexcept { return memory_.valid(); }
  /// Makes the memory. Throws Error.
  void make(const StageShape& shape);
  [[nodiscard]] FileOffer offer() const noexcept { return offered_.offer(); }
  /// Throws Error.
  void open(const FileOffer& offer, int owner, const StageShape& shape);
  /// All ranks have opened the memory.
  void close_offer() noexcept;

  [[nodiscard]] Rounds plan(int64_t first, int64_t last, uint64_t bits) const noexcept;
  /// Copies this rank's blocks of the round into the stage.
  [[nodiscard]] Failure fill(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                             const Memory& memory, size_t bytes) noexcept;
  /// Marks this rank's blocks of the round.
  void mark(const Rounds& rounds, int64_t round, const View& view, int64_t first,
            size_t bytes) noexcept;
  /// Writes the marked units of a domain, and clears the marks.
  [[nodiscard]] Failure flush(const Rounds& rounds, int64_t round, int domain, const RawFile& file,
                              FileWindow& window, const Ways& ways, bool writes) noexcept;
  /// Reads a domain.
  [[nodiscard]] Failure load(const Rounds& rounds, int64_t round, int domain,
                             const RawFile& file) noexcept;
  /// Copies this rank's blocks of the round out of the stage. *done gets the bytes in front of the
  /// end of the file.
  [[nodiscard]] Failure take(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                             const Memory& memory, size_t bytes, size_t* done) noexcept;
  void clear_marks(const Rounds& rounds, int64_t round, int domain) noexcept;

  [[nodiscard]] std::byte* data(int64_t round) const noexcept {
    return memory_.data() + head_ + (round & 1) * (shape_.bytes / 2);
  }
  /// A byte for each unit: 0 or 1. Behind both halves: data of earlier transfers with larger
  /// domains must not lie in the marks.
  [[nodiscard]] std::byte* marks(int64_t round) const noexcept {
    return data(round) + shape_.bytes;
  }
  /// The offset in the file behind the last byte that a read of the domain has found, or a number
  /// behind the domain.
  [[nodiscard]] std::atomic<int64_t>& end_of(int64_t round, int domain) const noexcept;

 private:
  struct Piece;  // a rank's packed bytes of a round
  [[nodiscard]] static int64_t head_of(const StageShape& shape) noexcept;

  Fd fd_;
  OfferedFile offered_;
  Mapping memory_;
  StageShape shape_;
  int64_t head_ = 0;
};

/// Calls visit(from, to) for each run of marked units, until visit returns false.
template <class Visit>
void for_each_run(const std::byte* marks, int64_t units, Visit&& visit) noexcept {
  constexpr int kMarked = 1;
  for (int64_t at = 0; at < units;) {
    const void* const begin = std::memchr(marks + at, kMarked, static_cast<size_t>(units - at));
    if (begin == nullptr) return;
    at = static_cast<const std::byte*>(begin) - marks;
    const void* const end = std::memchr(marks + at, 0, static_cast<size_t>(units - at));
    const int64_t stop = end == nullptr ? units : static_cast<const std::byte*>(end) - marks;
    if (!visit(at, stop)) return;
    at = stop;
  }
}

}  // namespace tern::io
