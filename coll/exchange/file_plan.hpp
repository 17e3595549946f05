// SPDX-License-Identifier: Apache-2.0
// FilePlan: a collective from another project's file: for each rank, steps on slices. Builder
// derives the dependencies from the slices: the plan has none.
//
// Slices count chunks: `first` is the chunk's number in the vector, or block times chunks a block.
// Lifetime: immutable, shared by the schedules emitted from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/schedule/builder.hpp"

namespace tern::coll {

struct FileStep {
  Verb verb;  // kSend, kRecv, kCopy or kReduce
  uint8_t lane;
  int32_t peer;
  std::vector<Slice> slices;  // sources, then the destination; kSend: a source
};

struct FilePlan {
  std::string name;
  Collective collective;
  int32_t ranks;
  int32_t chunks;  // of each block, or of the vector
  int32_t stage = 0, mirrors = 0, lanes = 1;
  int64_t least_bytes = 0, most_bytes = -1;  // the author's range; -1: no bound
  std::vector<std::vector<FileStep>> steps;  // by rank
};

/// A file's chunks of different ranks have the same size, unless they are parts of a vector.
[[nodiscard]] bool needs_equal_blocks(Collective collective) noexcept;
void emit_plan(Builder& builder, const FilePlan& plan);
/// The schedules of all ranks.
[[nodiscard]] std::vector<Schedule> schedules_of(const FilePlan& plan);

}  // namespace tern::coll
