// SPDX-License-Identifier: Apache-2.0
// Recipe: a datatype's constructor call, for MPI_Type_get_contents (MPI-5.0 section 5.1.13).
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
  std::vector<MPI_Count> counts;
  std::vector<Ref<Datatype>> types;
  std::vector<MPI_Count> repeats;  // per type, in packing order; empty: a single type
};

}  // namespace tern::core
