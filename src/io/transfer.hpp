// SPDX-License-Identifier: Apache-2.0
// Transfers of one rank: packed bytes of a view, to and from a buffer.
// Why: a block of the file is one system call; small blocks go through a mapping, because a system
// call per block costs more. No transfer writes a byte that the caller did not pass: reading,
// changing and writing back a range would undo what other processes write meanwhile.
// Threads: any.
#pragma once

#include <cstdint>

#include "base/params.hpp"
#include "io/file_window.hpp"
#include "io/memory.hpp"
#include "io/raw_file.hpp"
#include "io/view.hpp"

namespace tern::io {

/// How a transfer moved its blocks, for TERN_EXPLAIN and MPI_T.
enum class Way : uint8_t { kBlock, kBlocks, kMapped, kSieved };

/// The ways that parameters and hints permit.
struct Ways {
  bool maps = true, sieves = true;
  bool maps_always = false;  // also large blocks
};

struct Part {
  const RawFile& file;
  FileWindow& window;
  const View& view;
  int64_t first;  // packed byte of the view
  Ways ways = {};
};

/// The way of a write or read of these bytes.
[[nodiscard]] Way write_way(const Part& part, size_t bytes) noexcept;
[[nodiscard]] Way read_way(const Part& part, size_t bytes) noexcept;
/// Counts the transfer, and explains the first transfer of each way.
void note(const Part& part, core::Process& process, bool writes, size_t bytes) noexcept;

/// Writes bytes [offset, offset + bytes) of the memory from the part's first byte on.
[[nodiscard]] Failure write(const Part& part, const Memory& memory, size_t offset,
                            size_t bytes) noexcept;
/// *done < bytes at the end of the file; memory behind *done is unchanged.
[[nodiscard]] Failure read(const Part& part, const Memory& memory, size_t offset, size_t bytes,
                           size_t* done) noexcept;

}  // namespace tern::io
