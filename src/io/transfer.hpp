// SPDX-License-Identifier: Apache-2.0
// Transfers of one rank: packed bytes of a view, to and from a buffer.
// Why: a large block costs a system call; small blocks go through a mapping, because a system call
// per block costs more. A transfer writes only bytes of the caller: reading, changing and writing
// back a range would undo concurrent writes of other processes.
// Threads: any.
#pragma once

#include <cstdint>

#include "io/memory.hpp"
#include "io/part.hpp"

namespace tern::io {

/// How a transfer moved its blocks, for TERN_EXPLAIN and MPI_T.
enum class Way : uint8_t { kBlock, kBlocks, kMapped, kSieved };

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
