// SPDX-License-Identifier: Apache-2.0
// A program's communicator: the world, or a communicator made from the world.
#pragma once

#include <mpi.h>

#include "step.hpp"

class Communicator {
 public:
  explicit Communicator(Step& step);
  void free();
  MPI_Comm comm;  // MPI_COMM_NULL on ranks outside

 private:
  void make(Step& step, int way);
};

// any_ranks() returns the same permutation or subset on all ranks.
std::vector<int> any_ranks(Random& random, int size, bool all_of_them);
