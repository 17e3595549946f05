// SPDX-License-Identifier: Apache-2.0
// Memory: the Area of this process. Under mpirun, mpirun made the area and drains it; elsewhere the
// process makes the area, and a thread drains it to FILE.RANK.
// Lifetime: the Recorder. Threads: one caller.
#pragma once

#include <memory>
#include <string>

#include "base/fd.hpp"
#include "trace/area.hpp"

namespace tern::trace {

class OwnDrain;
struct Start;

class Memory {
 public:
  Memory();
  ~Memory();
  /// Returns a remark, or an empty text. Without memory area() stays invalid.
  [[nodiscard]] std::string open(const Start& what);
  [[nodiscard]] const Area& area() const noexcept { return area_; }
  /// MPI has ended in this process.
  void leave() noexcept;

 private:
  [[nodiscard]] bool open_inherited(int rank, std::string* remark);
  void make_own(const Start& what);
  [[nodiscard]] bool claim(std::string* remark) noexcept;

  Mapping map_;
  Area area_;
  std::unique_ptr<OwnDrain> drain_;
};

}  // namespace tern::trace
