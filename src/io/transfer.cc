// SPDX-License-Identifier: Apache-2.0
#include "io/transfer.hpp"

#include <limits.h>

#include <algorithm>
#include <array>

#include "io/mapping.hpp"
#include "io/scratch.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr size_t kBlocksAtOnce = 256;
constexpr size_t kPartsAtOnce = 64;
// A read of the whole range pays below this size of a block, if few bytes lie between blocks.
constexpr int64_t kLeastRead = 2048, kMostSparse = 16;
// The same for blocks of some pages, if the bytes between them are few.
constexpr int64_t kLeastReadDense = 8192, kMostSparseDense = 3;
// A mapping pays while its pages hold several blocks.
constexpr int64_t kMostSparseMapping = 128;

Failure no_room() noexcept { return failure(MPI_ERR_NO_MEM, "no memory to pack data"); }

constexpr size_t kLastInPage = 4095;

/// Calls move(address, bytes, offset) for each packed chunk of the memory.
template <class Move>
Failure in_chunks(size_t offset, size_t bytes, int64_t at, Move&& move) noexcept {
  while (bytes > 0) {
    std::byte* const buffer = scratch(Scratch::kPacked, at);
    if (buffer == nullptr) return no_room();
    // Chunks end between pages.
    const size_t some = std::min(bytes, kScratchBytes - (static_cast<size_t>(at) & kLastInPage));
    if (Failure failed = move(buffer, some, offset)) return failed;
    offset += some;
    at += static_cast<int64_t>(some);
    bytes -= some;
  }
  return {};
}

constexpr size_t kLeastPart = 512;  // smaller parts of memory are packed first

Failure write_parts(const RawFile& file, const Memory& memory, size_t offset, int64_t at,
                    size_t bytes) noexcept {
  std::array<iovec, kPartsAtOnce> parts;
  while (bytes > 0) {
    size_t covered = 0;
    const size_t count = memory.pieces(offset, bytes, parts.data(), parts.size(), &covered);
    if (Failure failed = file.write(parts.data(), count, at)) return failed;
    offset += covered;
    at += static_cast<int64_t>(covered);
    bytes -= covered;
  }
  return {};
}

Failure read_parts(const RawFile& file, const Memory& memory, size_t offset, int64_t at,
                   size_t bytes, size_t* done) noexcept {
  std::array<iovec, kPartsAtOnce> parts;
  for (*done = 0; *done < bytes;) {
    size_t covered = 0, got = 0;
    const size_t count =
        memory.pieces(offset + *done, bytes - *done, parts.data(), parts.size(), &covered);
    Failure failed = file.read(parts.data(), count, at + static_cast<int64_t>(*done), &got);
    *done += got;
    if (failed || got < covered) return failed;
  }
  return {};
}

/// Whether the parts of the memory need no copy. O_DIRECT needs aligned memory.
bool has_large_parts(const RawFile& file, const Memory& memory) noexcept {
  return memory.on_host() && memory.mean_part() >= kLeastPart && !file.direct().serves();
}

/// A block of the file.
Failure write_block(const RawFile& file, const Memory& memory, size_t offset, int64_t at,
                    size_t bytes) noexcept {
  if (memory.block() != nullptr) return file.write(memory.block() + offset, bytes, at);
  if (has_large_parts(file, memory)) return write_parts(file, memory, offset, at, bytes);
  return in_chunks(offset, bytes, at, [&](std::byte* buffer, size_t some, size_t from) {
    if (Failure failed = memory.get(from, buffer, some)) return failed;
    return file.write(buffer, some, at + static_cast<int64_t>(from - offset));
  });
}

Failure read_block(const RawFile& file, const Memory& memory, size_t offset, int64_t at,
                   size_t bytes, size_t* done) noexcept {
  if (memory.block() != nullptr) return file.read(memory.block() + offset, bytes, at, done);
  if (has_large_parts(file, memory)) return read_parts(file, memory, offset, at, bytes, done);
  *done = 0;
  bool ended = false;
  return in_chunks(offset, bytes, at, [&](std::byte* buffer, size_t some, size_t to) {
    size_t got = 0;
    if (ended) return Failure{};
    Failure failed = file.read(buffer, some, at + static_cast<int64_t>(to - offset), &got);
    ended = got < some;
    if (Failure copied = memory.put(to, buffer, got)) return copied;
    *done += got;
    return failed;
  });
}

/// Calls move(file offset, bytes, packed byte) for each block, until move returns false.
template <class Move>
void for_each_block(const Part& part, size_t bytes, Move&& move) noexcept {
  std::array<iovec, kBlocksAtOnce> blocks;
  for (size_t packed = 0; packed < bytes;) {
    size_t covered = 0;
    const size_t count = part.view.blocks(part.first + static_cast<int64_t>(packed),
                                          static_cast<int64_t>(bytes - packed), blocks.data(),
                                          blocks.size(), &covered);
    for (size_t i = 0, at = packed; i < count; at += blocks[i++].iov_len)
      if (!move(reinterpret_cast<intptr_t>(blocks[i].iov_base), blocks[i].iov_len, at)) return;
    packed += covered;
  }
}

Failure write_blocks(const Part& part, const Memory& memory, size_t offset, size_t bytes) noexcept {
  Failure failed;
  for_each_block(part, bytes, [&](int64_t at, size_t length, size_t packed) {
    failed = write_block(part.file, memory, offset + packed, at, length);
    return !failed;
  });
  return failed;
}

Failure read_blocks(const Part& part, const Memory& memory, size_t offset, size_t bytes,
                    size_t* done) noexcept {
  Failure failed;
  for_each_block(part, bytes, [&](int64_t at, size_t length, size_t packed) {
    size_t got = 0;
    failed = read_block(part.file, memory, offset + packed, at, length, &got);
    *done += got;
    return !failed && got == length;
  });
  return failed;
}

/// Reads ranges of the file with the bytes between blocks, then copies the blocks.
Failure read_sieved(const Part& part, const Memory& memory, size_t offset, size_t bytes,
                    size_t* done) noexcept {
  std::byte* const packed =
      memory.block() != nullptr ? nullptr : scratch(Scratch::kPacked, part.first);
  if (memory.block() == nullptr && packed == nullptr) return no_room();
  const View& view = part.view;
  const int64_t end = part.first + static_cast<int64_t>(bytes);
  for (int64_t next = part.first; next < end;) {
    const int64_t low = view.at(next);
    const int64_t most = std::min(static_cast<int64_t>(kScratchBytes), part.ways.sieve_bytes);
    int64_t stop = std::min(end, view.packed_before(low + most, next));
    const int64_t high = view.end_of(next, stop - next);
    std::byte* const range = scratch(Scratch::kRange, low);
    if (range == nullptr) return no_room();
    size_t got = 0;
    Failure failed = part.file.read(range, static_cast<size_t>(high - low), low, &got);
    const bool ended = got < static_cast<size_t>(high - low);
    if (ended) stop = std::min(stop, view.packed_before(low + static_cast<int64_t>(got), next));
    const auto some = static_cast<size_t>(stop - next);
    std::byte* const to = packed != nullptr ? packed : memory.block() + offset + *done;
    view.gather(next, stop - next, to, range, low);
    if (packed != nullptr)
      if (Failure copied = memory.put(offset + *done, packed, some)) return copied;
    *done += some;
    if (failed || ended) return failed;
    next = stop;
  }
  return {};
}

}  // namespace

Way write_way(const Part& part, size_t bytes) noexcept {
  const View& view = part.view;
  if (view.dense() || static_cast<int64_t>(bytes) <= view.mean_block()) return Way::kBlock;
  const bool may_map = part.file.system().maps && part.ways.maps &&
                       view.rises(part.first, static_cast<int64_t>(bytes));
  if (!may_map) return Way::kBlocks;
  if (part.ways.maps_below == INT64_MAX) return Way::kMapped;
  return view.mean_block() < std::max(part.ways.maps_below, part.file.system().least_write) &&
                 view.sparsity() <= kMostSparseMapping
             ? Way::kMapped
             : Way::kBlocks;
}

namespace {

bool is_small_read(const View& view) noexcept {
  return (view.mean_block() < kLeastRead && view.sparsity() <= kMostSparse) ||
         (view.mean_block() < kLeastReadDense && view.sparsity() <= kMostSparseDense);
}

}  // namespace

Way read_way(const Part& part, size_t bytes) noexcept {
  const View& view = part.view;
  if (view.dense() || static_cast<int64_t>(bytes) <= view.mean_block()) return Way::kBlock;
  return part.ways.sieves && view.rises(part.first, static_cast<int64_t>(bytes)) &&
                 is_small_read(view)
             ? Way::kSieved
             : Way::kBlocks;
}

Failure write(const Part& part, const Memory& memory, size_t offset, size_t bytes) noexcept {
  if (bytes == 0) return {};
  if (part.view.dense())
    return write_block(part.file, memory, offset, part.view.at(part.first), bytes);
  if (write_way(part, bytes) != Way::kMapped) return write_blocks(part, memory, offset, bytes);
  size_t mapped = 0;
  if (Failure failed = write_mapped(part, memory, offset, bytes, &mapped)) return failed;
  if (mapped == bytes) return {};
  // The kernel refused a mapping.
  const Part rest{part.file, part.window, part.view, part.first + static_cast<int64_t>(mapped),
                  part.ways};
  return write_blocks(rest, memory, offset + mapped, bytes - mapped);
}

Failure read(const Part& part, const Memory& memory, size_t offset, size_t bytes,
             size_t* done) noexcept {
  *done = 0;
  if (bytes == 0) return {};
  if (part.view.dense())
    return read_block(part.file, memory, offset, part.view.at(part.first), bytes, done);
  return read_way(part, bytes) == Way::kSieved ? read_sieved(part, memory, offset, bytes, done)
                                               : read_blocks(part, memory, offset, bytes, done);
}

}  // namespace tern::io
