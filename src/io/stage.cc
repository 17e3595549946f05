// SPDX-License-Identifier: Apache-2.0
#include "io/stage.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

#include "io/scratch.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr int64_t kStagePage = 4096;
constexpr int kMostShift = 12;
constexpr std::byte kMarked{1};

int64_t up(int64_t bytes, int64_t to) noexcept { return (bytes + to - 1) / to * to; }

}  // namespace

struct Stage::Piece {
  int64_t first = 0, end = 0;  // packed bytes of the view
  Piece(const Rounds& rounds, int64_t round, const View& view, int64_t from,
        size_t bytes) noexcept {
    const int64_t begin = rounds.begin_of(round);
    const int64_t stop = from + static_cast<int64_t>(bytes);
    first = std::clamp(view.packed_before(begin, from), from, stop);
    end = std::clamp(view.packed_before(begin + rounds.range(), from), first, stop);
  }
};

void Stage::make(int ranks, int64_t bytes) {
  ranks_ = ranks;
  bytes_ = bytes;
  head_ = up(static_cast<int64_t>(2 * sizeof(std::atomic<int64_t>)) * ranks, kStagePage);
  const auto all = static_cast<size_t>(head_ + 2 * bytes * ranks);
  fd_ = make_memfd("tern-io", all);
  offered_ = OfferedFile(fd_, OfferedFile::Keep::kYes);
  memory_ = Mapping::shared(fd_.get(), all);
}

void Stage::open(const FileOffer& offer, int owner, int ranks, int64_t bytes) {
  const FoundFile found = open_offered(offer, O_RDWR);
  if (!found.valid())
    throw Error(MPI_ERR_OTHER,
                strf("cannot map the stage of rank %d (%s)", owner, found.why.c_str()));
  ranks_ = ranks;
  bytes_ = bytes;
  head_ = up(static_cast<int64_t>(2 * sizeof(std::atomic<int64_t>)) * ranks, kStagePage);
  const auto all = static_cast<size_t>(head_ + 2 * bytes * ranks);
  const Fd& fd = found.descriptors.front();
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || static_cast<size_t>(status.st_size) != all ||
      !has_fixed_size(fd.get()))
    throw Error(MPI_ERR_OTHER, strf("descriptor %d of process %d is not the stage of rank %d",
                                    offer.fd, offer.pid, owner));
  memory_ = Mapping::shared(fd.get(), all);
}

void Stage::close_offer() noexcept {
  offered_ = OfferedFile();
  fd_.reset();
}

Rounds Stage::plan(int64_t first, int64_t last, uint64_t bits) const noexcept {
  Rounds rounds;
  rounds.first = first & -kStagePage;
  rounds.last = last;
  rounds.ranks = ranks_;
  rounds.shift = bits == 0 ? kMostShift : std::min(std::countr_zero(bits), kMostShift);
  // A domain and its map touch half of a rank's bytes.
  const int64_t unit = int64_t{1} << rounds.shift;
  const int64_t most = (bytes_ / 2) * unit / (unit + 1) & -kStagePage;
  const int64_t even = up((last - rounds.first + ranks_ - 1) / ranks_, kStagePage);
  rounds.domain = std::clamp(even, kStagePage, most);
  return rounds;
}

std::byte* Stage::half(int64_t round) const noexcept {
  return memory_.data() + head_ + (round & 1) * (bytes_ / 2) * ranks_;
}

std::byte* Stage::map(int64_t round) const noexcept { return half(round) + bytes_ * ranks_; }

std::atomic<int64_t>& Stage::end_of(int64_t round, int rank) const noexcept {
  auto* const ends = reinterpret_cast<std::atomic<int64_t>*>(memory_.data());
  return ends[(round & 1) * ranks_ + rank];
}

Failure Stage::fill(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                    const Memory& memory, size_t bytes) noexcept {
  const Piece piece(rounds, round, view, first, bytes);
  const int64_t origin = rounds.begin_of(round);
  std::byte* const packed = memory.block() != nullptr ? nullptr : scratch(Scratch::kPacked);
  if (memory.block() == nullptr && packed == nullptr)
    return failure(MPI_ERR_NO_MEM, "no memory to pack data");
  for (int64_t at = piece.first; at < piece.end;) {
    const int64_t most = packed == nullptr ? piece.end - at : static_cast<int64_t>(kScratchBytes);
    const int64_t some = std::min(piece.end - at, most);
    const auto offset = static_cast<size_t>(at - first);
    if (packed != nullptr)
      if (Failure failed = memory.get(offset, packed, static_cast<size_t>(some))) return failed;
    view.scatter(at, some, packed != nullptr ? packed : memory.block() + offset, half(round),
                 origin);
    at += some;
  }
  std::byte* const marks = map(round);
  const int64_t unit = int64_t{1} << rounds.shift;
  std::array<iovec, 256> blocks;
  for (int64_t at = piece.first; at < piece.end;) {
    size_t covered = 0;
    const size_t count = view.blocks(at, piece.end - at, blocks.data(), blocks.size(), &covered);
    for (size_t i = 0; i < count; ++i) {
      const int64_t from = reinterpret_cast<intptr_t>(blocks[i].iov_base) - origin;
      const auto units = (static_cast<int64_t>(blocks[i].iov_len) + unit - 1) >> rounds.shift;
      std::memset(marks + (from >> rounds.shift), static_cast<int>(kMarked),
                  static_cast<size_t>(units));
    }
    at += static_cast<int64_t>(covered);
  }
  return {};
}

namespace {

/// Calls write(from, to) for each run of marked units.
template <class Write>
void for_each_run(const std::byte* marks, int64_t units, Write&& write) noexcept {
  for (int64_t at = 0; at < units;) {
    const void* const begin =
        std::memchr(marks + at, static_cast<int>(kMarked), static_cast<size_t>(units - at));
    if (begin == nullptr) return;
    at = static_cast<const std::byte*>(begin) - marks;
    const void* const end = std::memchr(marks + at, 0, static_cast<size_t>(units - at));
    const int64_t stop = end == nullptr ? units : static_cast<const std::byte*>(end) - marks;
    if (!write(at, stop)) return;
    at = stop;
  }
}

}  // namespace

Failure Stage::flush(const Rounds& rounds, int64_t round, int rank, const RawFile& file,
                     FileWindow& window, const Ways& ways, bool writes) noexcept {
  const int64_t begin = rounds.begin_of(round) + rank * rounds.domain;
  const int64_t end = std::min(begin + rounds.domain, up(rounds.last, int64_t{1} << rounds.shift));
  if (begin >= end) return {};
  std::byte* const data = half(round) + rank * rounds.domain;
  std::byte* const marks = map(round) + (rank * rounds.domain >> rounds.shift);
  const int64_t units = (end - begin + (int64_t{1} << rounds.shift) - 1) >> rounds.shift;
  Failure failed;
  if (writes) {
    int64_t runs = 0, marked = 0, low = 0, high = 0;
    for_each_run(marks, units, [&](int64_t from, int64_t to) {
      if (runs++ == 0) low = from;
      high = to;
      marked += to - from;
      return true;
    });
    const bool short_runs = runs > 1 && (marked << rounds.shift) / runs < file.system().least_write;
    FileWindow::Range range;
    if (short_runs && file.system().maps && ways.maps &&
        ((high - low) << rounds.shift) <= FileWindow::kBytes)
      failed =
          window.map(file, begin + (low << rounds.shift), begin + (high << rounds.shift), &range);
    if (range.valid())
      for_each_run(marks, units, [&](int64_t from, int64_t to) {
        std::memcpy(range.memory() + ((from - low) << rounds.shift), data + (from << rounds.shift),
                    static_cast<size_t>((to - from) << rounds.shift));
        return true;
      });
    if (!range.valid() && !failed)
      for_each_run(marks, units, [&](int64_t from, int64_t to) {
        failed = file.write(data + (from << rounds.shift),
                            static_cast<size_t>((to - from) << rounds.shift),
                            begin + (from << rounds.shift));
        return !failed;
      });
  }
  std::memset(marks, 0, static_cast<size_t>(units));
  return failed;
}

Failure Stage::load(const Rounds& rounds, int64_t round, int rank, const RawFile& file) noexcept {
  const int64_t begin = rounds.begin_of(round) + rank * rounds.domain;
  const int64_t end = std::min(begin + rounds.domain, rounds.last);
  std::atomic<int64_t>& reached = end_of(round, rank);
  reached.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  if (begin >= end) return {};
  size_t got = 0;
  Failure failed =
      file.read(half(round) + rank * rounds.domain, static_cast<size_t>(end - begin), begin, &got);
  const int64_t stop = begin + static_cast<int64_t>(got);
  if (stop < end) reached.store(stop, std::memory_order_relaxed);
  return failed;
}

Failure Stage::take(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                    const Memory& memory, size_t bytes, size_t* done) noexcept {
  Piece piece(rounds, round, view, first, bytes);
  int64_t reached = std::numeric_limits<int64_t>::max();
  for (int rank = 0; rank < ranks_; ++rank)
    reached = std::min(reached, end_of(round, rank).load(std::memory_order_relaxed));
  if (reached != std::numeric_limits<int64_t>::max())
    piece.end = std::clamp(view.packed_before(reached, first), piece.first, piece.end);
  std::byte* const packed = memory.block() != nullptr ? nullptr : scratch(Scratch::kPacked);
  if (memory.block() == nullptr && packed == nullptr)
    return failure(MPI_ERR_NO_MEM, "no memory to unpack data");
  for (int64_t at = piece.first; at < piece.end;) {
    const int64_t most = packed == nullptr ? piece.end - at : static_cast<int64_t>(kScratchBytes);
    const int64_t some = std::min(piece.end - at, most);
    const auto offset = static_cast<size_t>(at - first);
    view.gather(at, some, packed != nullptr ? packed : memory.block() + offset, half(round),
                rounds.begin_of(round));
    if (packed != nullptr)
      if (Failure failed = memory.put(offset, packed, static_cast<size_t>(some))) return failed;
    at += some;
  }
  *done += static_cast<size_t>(piece.end - piece.first);
  return {};
}

}  // namespace tern::io
