// SPDX-License-Identifier: Apache-2.0
// Elements: the element type for the host's operation on packed data of a half of the board.
#pragma once

#include "coll/engine/operation.hpp"

namespace tern::stream {

/// Each user element is `each` elements of `type`, of `bytes` bytes, contiguous: the packed form of
/// `each_moved` elements of `moved_as`.
struct Elements {
  core::Datatype* type = nullptr;
  size_t bytes = 0;
  MPI_Count each = 1;
  core::Datatype* moved_as = nullptr;
  MPI_Count each_moved = 1;
};

/// elements_of() throws Error if packed data of this type cannot be reduced.
[[nodiscard]] Elements elements_of(core::Process& process, const coll::Operation& operation,
                                   core::Datatype& type);

}  // namespace tern::stream
