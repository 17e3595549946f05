// SPDX-License-Identifier: Apache-2.0
// Recipe: the constructor call that made a datatype, as MPI_Type_get_envelope and _get_contents
// give it back.
// Lifetime: shared by a type and its duplicates; holds references on the types it is made of.
// Threads: read-only.
// See: MPI-5.0 section 5.1.13.
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
  std::vector<MPI_Count>
      counts;  // not empty: the call had a value beyond an int (or was a large one)
  std::vector<Ref<Datatype>> types;
  std::vector<MPI_Count>
      repeats;  // of each of `types`, in packing order; empty: one type fills the whole
};

}  // namespace tern::core
