// SPDX-License-Identifier: Apache-2.0
// Path: the access method to a target's part, chosen at the window's creation. Blocks and elements
// in mapped memory bypass the path (rma/operations.cc). Paths: MappedPath, CopiedPath
// (rma/paths.hpp), NetworkPath, Messages. Threads: any.
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

struct TargetData {
  int target;
  MPI_Aint disp;  // in displacement units
  MPI_Count count;
  core::Datatype* type;
};

struct Reached {
  Path* path = nullptr;  // null: nothing to do
  int64_t at = 0;
  std::byte* address = nullptr;  // in this process or at the target
};

class Path {
 public:
  using Count = core::Process::WindowOperations::Count;
  explicit Path(Count& count) noexcept : counted(count) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  virtual ~Path() = default;

  /// The path of an operation: this one, or another. `moved` is the origin's data of a put or get,
  /// else null. Throws std::bad_alloc.
  [[nodiscard]] virtual Path& carrier(const core::Data* /*moved*/, const TargetData& /*at*/,
                                      const Reached& /*reached*/) {
    return *this;
  }

  // Operations accept buffers in any memory. They return 0, or an error class with fail() text, and
  // throw std::bad_alloc.
  [[nodiscard]] virtual int put(const core::Data& origin, const TargetData& to,
                                const Reached& reached, OpRequest* request) = 0;
  [[nodiscard]] virtual int get(const core::Data& origin, const TargetData& from,
                                const Reached& reached, OpRequest* request) = 0;
  [[nodiscard]] virtual int accumulate(const core::Data* origin, const core::Data* result,
                                       const TargetData& at, const Reached& reached,
                                       const Element& element, OpRequest* request) = 0;
  [[nodiscard]] virtual int compare_and_swap(const void* origin, const void* compare, void* result,
                                             const TargetData& at, const Reached& reached) = 0;

  Count& counted;
};

}  // namespace tern::rma
