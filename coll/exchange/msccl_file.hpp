// SPDX-License-Identifier: Apache-2.0
// MscclFile: the content of an MSCCL algorithm file, checked: every number is in range, every
// dependency names a step, and every (sender, receiver, channel) has a thread block at each end,
// with as many sends as receives. Whether the steps are a correct collective is proved later.
// See: github.com/Azure/msccl-executor-nccl, src/graph/tuning of the interpreter; the attribute
// names are its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coll/schedule/collective.hpp"

namespace tern::coll {

inline constexpr int32_t kMostMscclGpus = 1024, kMostMscclChunks = 65536;
inline constexpr int64_t kMostMscclCells = 16 << 20;  // chunks of all buffers of all GPUs
inline constexpr int64_t kMostMscclMoved = 4 << 20;   // chunks of all steps

enum class MscclBuffer : uint8_t { kInput, kOutput, kScratch };
inline constexpr int kMscclBuffers = 3;

/// The actions of a step, in this order: receives, reads `source`, reduces, writes `destination`,
/// sends.
struct MscclType {
  const char* name;
  bool receives, reads, reduces, writes, sends;
};

struct MscclStep {
  const MscclType* type;
  MscclBuffer source, destination;
  int32_t source_at, destination_at, count;  // in chunks
  int32_t wait_block = -1, wait_step = -1;   // a step of the same GPU, done before
  int line;
  int32_t file_block = -1, file_step = -1;  // numbers in the file; -1: those in MscclGpu
};

struct MscclBlock {
  int32_t send = -1, recv = -1, channel = 0;  // GPUs, or -1
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  int32_t scratch = 0;  // chunks
  std::vector<MscclBlock> blocks;
};

struct MscclFile {
  std::string file, name, protocol;  // LL, LL128 or Simple
  Collective collective;
  int32_t chunks = 0;                        // of the vector, or of all blocks
  bool in_place = false;                     // input and output are the same memory
  int64_t least_bytes = 0, most_bytes = -1;  // -1: no bound
  std::vector<MscclGpu> gpus;

  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(gpus.size()); }
  /// Chunks of a block of one rank, or of the vector.
  [[nodiscard]] int32_t per_block() const noexcept {
    return splits(collective) ? chunks : chunks / ranks();
  }
  [[nodiscard]] int32_t size_of(MscclBuffer buffer, int32_t gpu) const noexcept;
  /// "FILE: GPU 1, thread block 2, step 3 (line 4)"
  [[nodiscard]] std::string place(int32_t gpu, int32_t block, int32_t step) const;
};

/// Throws tern::Error (MPI_ERR_ARG, without the file's name) for an unknown name.
[[nodiscard]] Collective msccl_collective(const std::string& name);
/// Returns null for an unknown name.
[[nodiscard]] const MscclType* msccl_type(std::string_view name) noexcept;
/// Errors (tern::Error, MPI_ERR_ARG) name the file and the line, or GPU, thread block and step.
[[nodiscard]] MscclFile parse_msccl(std::string_view text, const std::string& file);

}  // namespace tern::coll
