// SPDX-License-Identifier: Apache-2.0
// Memory: the Area of this process. Under mpirun, mpirun made the area and drains it; elsewhere the
// process makes the area, and a thread drains it to FILE.RANK.
// Lifetime: the Recorder. Threads: a single caller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "trace/area.hpp"

namespace tern::trace {

class OwnDrain;

/// The settings of a recorder.
struct Start {
  std::string trace;   // file, or empty
  int64_t buffer = 0;  // bytes of a thread's ring
  bool profile = false;
  std::string profile_file;  // as JSON; or empty
  int rank = 0, size = 1;
  std::string host;
  int64_t begin_ns = 0;
  bool ranges = false;  // for a profiler: ranges.hpp
};

class Memory {
 public:
  Memory();
  ~Memory();
  /// Returns a remark, or an empty text. Without memory area() stays invalid.
  [[nodiscard]] std::string open(const Start& what);
  [[nodiscard]] const Area& area() const noexcept { return area_; }
  /// Whether mpirun reads the area.
  [[nodiscard]] bool is_mpiruns() const noexcept { return is_mpiruns_; }
  /// The definitions of rank 0 so far, if mpirun reads the areas and rank 0 records; else empty.
  /// Throws std::bad_alloc.
  [[nodiscard]] std::string first_definitions() const;
  /// MPI has ended in this process.
  void leave() noexcept;
  /// The process ends at once, without exit(): writes the rest of the own file.
  void abandon() noexcept;

 private:
  [[nodiscard]] bool open_inherited(int rank, std::string* remark);
  void make_own(const Start& what);
  [[nodiscard]] bool claim(std::string* remark) noexcept;

  Mapping map_;
  Area area_;
  bool is_mpiruns_ = false;
  Fd shared_;  // mpirun's areas
  std::unique_ptr<OwnDrain> drain_;
};

}  // namespace tern::trace
