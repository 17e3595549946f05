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

#include "io/packed_room.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr int64_t kStagePage = 4096;
constexpr int kMostShift = 12;
constexpr int kMarked = 1;

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

int64_t Stage::head_of(const StageShape& shape) noexcept {
  return up(static_cast<int64_t>(2 * sizeof(std::atomic<int64_t>)) * shape.domains, kStagePage);
}

int StageShape::most_domains(int64_t bytes) noexcept {
  // With units of one byte, the marks take as much memory as the data.
  return static_cast<int>(std::max<int64_t>(1, bytes / 4 / kStagePage));
}

void Stage::make(const StageShape& shape) {
  shape_ = shape;
  head_ = head_of(shape);
  const auto all = static_cast<size_t>(head_ + 2 * shape.bytes);
  fd_ = make_memfd("tern-io", all);
  offered_ = OfferedFile(fd_, OfferedFile::Keep::kYes);
  memory_ = Mapping::shared(fd_.get(), all);
}

void Stage::open(const FileOffer& offer, int owner, const StageShape& shape) {
  const FoundFile found = open_offered(offer, O_RDWR);
  if (!found.valid())
    throw Error(MPI_ERR_OTHER,
                strf("cannot map the stage of rank %d (%s)", owner, found.why.c_str()));
  shape_ = shape;
  head_ = head_of(shape);
  const auto all = static_cast<size_t>(head_ + 2 * shape.bytes);
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
  rounds.last = last;
  rounds.domains = shape_.domains;
  rounds.shift = bits == 0 ? kMostShift : std::min(std::countr_zero(bits), kMostShift);
  // The domains and their marks touch half of the memory.
  const int64_t unit = rounds.unit();
  const int64_t most = (shape_.bytes / 2) * unit / (unit + 1) / shape_.domains & -kStagePage;
  const bool has_stripes =
      shape_.stripe > 0 && shape_.stripe % kStagePage == 0 && shape_.stripe <= most;
  // A stripe belongs to the same aggregator in all transfers.
  rounds.first =
      has_stripes ? first - first % (shape_.stripe * shape_.domains) : first & -kStagePage;
  rounds.begins = first & -kStagePage;
  const int64_t even = up((last - rounds.first + shape_.domains - 1) / shape_.domains, kStagePage);
  rounds.piece = has_stripes ? shape_.stripe : std::clamp(even, kStagePage, most);
  if (has_stripes)
    rounds.pieces =
        std::clamp((even + rounds.piece - 1) / rounds.piece, int64_t{1}, most / rounds.piece);
  return rounds;
}

std::atomic<int64_t>& Stage::end_of(int64_t round, int domain) const noexcept {
  auto* const ends = reinterpret_cast<std::atomic<int64_t>*>(memory_.data());
  return ends[(round & 1) * shape_.domains + domain];
}

void Stage::clear_marks(const Rounds& rounds, int64_t round, int domain) noexcept {
  for (int64_t i = 0; i < rounds.pieces; ++i) {
    const auto [begin, end] = rounds.piece_of(round, domain, i);
    std::memset(marks(round) + (begin >> rounds.shift), 0,
                static_cast<size_t>((end - begin) >> rounds.shift));
  }
}

Failure Stage::fill(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                    const Memory& memory, size_t bytes) noexcept {
  const Piece piece(rounds, round, view, first, bytes);
  const int64_t origin = rounds.begin_of(round);
  const PackedRoom room(memory);
  std::byte* const packed = room.data();
  if (memory.block() == nullptr && packed == nullptr)
    return failure(MPI_ERR_NO_MEM, "no memory to pack data");
  for (int64_t at = piece.first; at < piece.end;) {
    const int64_t most = packed == nullptr ? piece.end - at : static_cast<int64_t>(kScratchBytes);
    const int64_t some = std::min(piece.end - at, most);
    const auto offset = static_cast<size_t>(at - first);
    if (packed != nullptr)
      if (Failure failed = memory.get(offset, packed, static_cast<size_t>(some))) return failed;
    view.scatter(at, some, packed != nullptr ? packed : memory.block() + offset, data(round),
                 origin);
    at += some;
  }
  return {};
}

void Stage::mark(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                 size_t bytes) noexcept {
  const Piece piece(rounds, round, view, first, bytes);
  const int64_t origin = rounds.begin_of(round);
  std::byte* const marks = this->marks(round);
  std::array<iovec, 256> blocks;
  for (int64_t at = piece.first; at < piece.end;) {
    size_t covered = 0;
    const size_t count = view.blocks(at, piece.end - at, blocks.data(), blocks.size(), &covered);
    for (size_t i = 0; i < count; ++i) {
      const int64_t from = reinterpret_cast<intptr_t>(blocks[i].iov_base) - origin;
      const auto units =
          (static_cast<int64_t>(blocks[i].iov_len) + rounds.unit() - 1) >> rounds.shift;
      std::memset(marks + (from >> rounds.shift), kMarked, static_cast<size_t>(units));
    }
    at += static_cast<int64_t>(covered);
  }
}

namespace {

/// The marked units of a piece, and the bytes of its first unit.
struct Marked {
  std::byte* data;
  const std::byte* marks;
  int64_t units;
  int shift;
  int64_t at;  // in the file
  [[nodiscard]] size_t bytes(int64_t count) const noexcept {
    return static_cast<size_t>(count << shift);
  }
};

Failure write_marked(const Marked& piece, const RawFile& file, FileWindow& window,
                     const Ways& ways) noexcept {
  int64_t runs = 0, marked = 0, low = 0, high = 0;
  for_each_run(piece.marks, piece.units, [&](int64_t from, int64_t to) {
    if (runs++ == 0) low = from;
    high = to;
    marked += to - from;
    return true;
  });
  const bool short_runs = runs > 1 && (marked << piece.shift) / runs < file.system().least_write;
  FileWindow::Range range;
  if (short_runs && file.system().maps && ways.maps &&
      ((high - low) << piece.shift) <= FileWindow::kBytes)
    if (Failure failed = window.map(file, piece.at + (low << piece.shift),
                                    piece.at + (high << piece.shift), &range))
      return failed;
  Failure failed;
  for_each_run(piece.marks, piece.units, [&](int64_t from, int64_t to) {
    std::byte* const data = piece.data + (from << piece.shift);
    if (range.valid())
      std::memcpy(range.memory() + ((from - low) << piece.shift), data, piece.bytes(to - from));
    else
      failed = file.write(data, piece.bytes(to - from), piece.at + (from << piece.shift));
    return !failed;
  });
  return failed;
}

}  // namespace

Failure Stage::flush(const Rounds& rounds, int64_t round, int domain, const RawFile& file,
                     FileWindow& window, const Ways& ways, bool writes) noexcept {
  Failure failed;
  for (int64_t i = 0; i < rounds.pieces && writes && !failed; ++i) {
    const auto [begin, end] = rounds.piece_of(round, domain, i);
    failed =
        write_marked({data(round) + begin, marks(round) + (begin >> rounds.shift),
                      (end - begin) >> rounds.shift, rounds.shift, rounds.begin_of(round) + begin},
                     file, window, ways);
  }
  clear_marks(rounds, round, domain);
  return failed;
}

Failure Stage::load(const Rounds& rounds, int64_t round, int domain, const RawFile& file) noexcept {
  std::atomic<int64_t>& reached = end_of(round, domain);
  reached.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  for (int64_t i = 0; i < rounds.pieces; ++i) {
    const int64_t piece = rounds.piece_of(round, domain, i).first;
    const int64_t begin = std::max(piece, rounds.begins - rounds.begin_of(round));
    const int64_t bytes = std::min(piece + rounds.piece, rounds.bytes_of(round)) - begin;
    if (bytes <= 0) continue;
    const int64_t at = rounds.begin_of(round) + begin;
    size_t got = 0;
    Failure failed = file.read(data(round) + begin, static_cast<size_t>(bytes), at, &got);
    if (static_cast<int64_t>(got) == bytes && !failed) continue;
    reached.store(at + static_cast<int64_t>(got), std::memory_order_relaxed);
    return failed;
  }
  return {};
}

Failure Stage::take(const Rounds& rounds, int64_t round, const View& view, int64_t first,
                    const Memory& memory, size_t bytes, size_t* done) noexcept {
  Piece piece(rounds, round, view, first, bytes);
  int64_t reached = std::numeric_limits<int64_t>::max();
  for (int domain = 0; domain < rounds.domains; ++domain)
    reached = std::min(reached, end_of(round, domain).load(std::memory_order_relaxed));
  if (reached != std::numeric_limits<int64_t>::max())
    piece.end = std::clamp(view.packed_before(reached, first), piece.first, piece.end);
  const PackedRoom room(memory);
  std::byte* const packed = room.data();
  if (memory.block() == nullptr && packed == nullptr)
    return failure(MPI_ERR_NO_MEM, "no memory to unpack data");
  for (int64_t at = piece.first; at < piece.end;) {
    const int64_t most = packed == nullptr ? piece.end - at : static_cast<int64_t>(kScratchBytes);
    const int64_t some = std::min(piece.end - at, most);
    const auto offset = static_cast<size_t>(at - first);
    view.gather(at, some, packed != nullptr ? packed : memory.block() + offset, data(round),
                rounds.begin_of(round));
    if (packed != nullptr)
      if (Failure failed = memory.put(offset, packed, static_cast<size_t>(some))) return failed;
    at += some;
  }
  *done += static_cast<size_t>(piece.end - piece.first);
  return {};
}

}  // namespace tern::io
