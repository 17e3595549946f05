// SPDX-License-Identifier: Apache-2.0
// Predefined datatypes, with values and reduction operations.
#pragma once

#include <mpi.h>

#include <vector>

#include "random.hpp"

enum class Kind { integer, natural, address, real, complex, logical, byte, character, pair };

struct Basic {
  MPI_Datatype type;
  const char* name;
  int extent;  // between elements
  int align;
  Kind kind;
};

enum class Values {
  raw,   // any bytes
  sums,  // sums and products are exact
  real,  // results differ by rounding
};

const std::vector<Basic>& basics();
struct Reduction {
  int basic;
  MPI_Op op;
  const char* name;
  bool rounds;  // results depend on the order
};
Reduction any_reduction(Random& random);
// MPI_MIN or MPI_MAX of addresses.
bool compares_addresses(const Reduction& reduction);
// For MPI_Accumulate: integers and bytes only.
Reduction any_accumulate(Random& random);

void set_value(const Basic& basic, void* place, Random& random, Values values);
// Clears padding and the sign of zero: the standard leaves both open.
void normalise(const Basic& basic, void* place);
bool has_padding(const Basic& basic);
// Clears only padding.
void clear_padding(const Basic& basic, void* place);
