// SPDX-License-Identifier: Apache-2.0
// The communicator of a random program: the world, or what is made from it in one of many ways.
#pragma once

#include <mpi.h>

#include "step.hpp"

class Communicator {
 public:
  explicit Communicator(Step& step);
  void free();
  MPI_Comm comm;  // MPI_COMM_NULL on ranks that are not in it

 private:
  void make(Step& step, int way);
};

// The same permutation or subset of 0 .. size-1 on all ranks.
std::vector<int> any_ranks(Random& random, int size, bool all_of_them);
