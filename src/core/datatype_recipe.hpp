// SPDX-License-Identifier: Apache-2.0
// Recipe: the constructor call of a datatype, for MPI_Type_get_envelope and _get_contents.
// Lifetime: shared by a type and its duplicates; holds references to the constituent types.
// Threads: read-only. See: MPI-5.0 section 5.1.13.
#pragma once

#include <vector>

#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Datatype;

struct Recipe {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;  // not empty: a _c call, or a call with a value beyond int
  std::vector<Ref<Datatype>> types;
  std::vector<MPI_Count>
      repeats;  // of each of `types`, in packing order; empty: a single type fills the whole
};

}  // namespace tern::core
