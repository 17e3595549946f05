// SPDX-License-Identifier: Apache-2.0
// Elements: what the host's operation works on for one vector of the program's.
// Why: data lies packed in a half, and a reduction needs elements that it knows.
#pragma once

#include "coll/engine/operation.hpp"

namespace tern::stream {

/// `each` elements of `type` for every element of the program's, `bytes` long and one behind the
/// other; they are the packed form of `each_moved` elements of `moved_as`.
struct Elements {
  core::Datatype* type = nullptr;
  size_t bytes = 0;
  MPI_Count each = 1;
  core::Datatype* moved_as = nullptr;
  MPI_Count each_moved = 1;
};

/// Throws Error where data of this type cannot be reduced from its packed form.
[[nodiscard]] Elements elements_of(core::Process& process, const coll::Operation& operation,
                                   core::Datatype& type);

}  // namespace tern::stream
