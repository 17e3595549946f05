// SPDX-License-Identifier: Apache-2.0
// Drain: moves the records of a process from the Area to a TraceFile.
// Cost: a copy and a write for the new records of a thread. An overrun ring loses the oldest
// records; the next block counts the lost records.
// Lifetime: the area's. Threads: a single caller, beside the process's writers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/area.hpp"
#include "trace/trace_file.hpp"

namespace tern::trace {

/// The fields of a line "process".
struct ProcessFacts {
  int world = 0, rank = 0, size = 1;
  std::string host, command;
};

class Drain {
 public:
  Drain(TraceFile& file, const Area& area, ProcessFacts facts)
      : file_(file), area_(area), facts_(std::move(facts)) {}

  /// Returns the number of new records.
  size_t run();
  /// `words`: how the process ended, as in the line "end". `killed`: an open call is drawn too.
  void finish(const std::string& words, bool killed);
  [[nodiscard]] bool has_process() const noexcept {
    return area_.head().pid.load(std::memory_order_acquire) != 0;
  }

 private:
  struct Ring {
    uint64_t taken = 0;  // and lost
  };
  void announce();
  void run_definitions();
  void run_passing();
  size_t run_ring(uint32_t index);
  void draw_open(uint32_t index, int64_t now);
  [[nodiscard]] uint32_t rings() const noexcept;

  TraceFile& file_;
  const Area area_;
  const ProcessFacts facts_;
  bool announced_ = false, finished_ = false;
  uint32_t process_ = 0;
  uint64_t definitions_ = 0, records_ = 0, lost_ = 0;
  std::vector<Ring> rings_;
  std::vector<Record> copy_;
  std::string lines_;
};

}  // namespace tern::trace
