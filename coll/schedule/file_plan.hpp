// SPDX-License-Identifier: Apache-2.0
// FilePlan: a collective from another project's file: for each rank, steps on slices. Builder
// derives the dependencies from the slices: the plan has none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coll/schedule/plan.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

inline constexpr const char* kFileRow = "file";

struct FileStep {
  Verb verb;  // kSend, kRecv, kCopy or kReduce
  uint8_t lane;
  int32_t peer;
  std::vector<Slice> slices;  // sources, then the destination; kSend: a source
  int32_t origin = -1;        // the reader's number of the step
};

class FilePlan final : public Plan {
 public:
  FilePlan(Collective which, int32_t ranks, std::string file_)
      : Plan(kFileRow, ranks), collective(which), file(std::move(file_)) {
    steps.resize(static_cast<size_t>(ranks));
  }
  [[nodiscard]] bool serves(Collective which) const noexcept override {
    return which == collective;
  }
  [[nodiscard]] std::string text() const override { return file; }

  const Collective collective;
  const std::string file;
  std::string name;
  int32_t parts = 1;  // of the vector, or of each block
  int32_t stage = 0, mirrors = 0, lanes = 1;
  int64_t least_bytes = 0, most_bytes = -1;  // the author's range; -1: no bound
  std::vector<std::vector<FileStep>> steps;  // by rank
};

}  // namespace tern::coll
