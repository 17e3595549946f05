// SPDX-License-Identifier: Apache-2.0
// Path: how operations on one target's part of a window reach its memory.
// Why: the way is a property of the target, chosen once while the window is made; an operation asks
// no more for it. Blocks and elements in mapped memory are done before a path is called
// (rma/operations.cc).
// Paths: MappedPath, CopiedPath (rma/paths.hpp), Messages. Lifetime: Window. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device_copy.hpp"
#include "core/process.hpp"
#include "mpi.h"
#include "rma/elements.hpp"

namespace tern::rma {

class OpRequest;
class Path;

/// Elements at a target.
struct Place {
  int target;
  MPI_Aint disp;  // in units of the target's
  MPI_Count count;
  core::Datatype* type;
};

/// Where a checked operation goes.
struct Reached {
  Path* path = nullptr;          // null: no element, or MPI_PROC_NULL
  int64_t at = 0;                // of the first element's origin: bytes from the part's first
  std::byte* address = nullptr;  // the same as an address, of this process or of the target's
};

class Path {
 public:
  using Count = core::Process::WindowOperations::Count;
  explicit Path(Count& count) noexcept : counted(count) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  virtual ~Path() = default;

  // Origin and result buffers may be in any memory. 0, or an error class with fail() text; throw
  // std::bad_alloc.
  [[nodiscard]] virtual int put(const core::Data& origin, const Place& to, const Reached& reached,
                                OpRequest* request) = 0;
  [[nodiscard]] virtual int get(const core::Data& origin, const Place& from, const Reached& reached,
                                OpRequest* request) = 0;
  /// Without `origin` or `result`: none goes in, or is asked for.
  [[nodiscard]] virtual int accumulate(const core::Data* origin, const core::Data* result,
                                       const Place& at, const Reached& reached,
                                       const Element& element, OpRequest* request) = 0;
  [[nodiscard]] virtual int compare_and_swap(const void* origin, const void* compare, void* result,
                                             const Place& at, const Reached& reached) = 0;

  Count& counted;  // of the process' operations by this path
};

}  // namespace tern::rma
