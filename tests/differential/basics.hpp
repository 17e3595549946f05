// SPDX-License-Identifier: Apache-2.0
// The predefined datatypes that random programs use, values for them, and which operations take
// them.
#pragma once

#include <mpi.h>

#include <vector>

#include "random.hpp"

enum class Kind { integer, natural, address, real, complex, logical, byte, character, pair };

struct Basic {
  MPI_Datatype type;
  const char* name;
  int extent;  // bytes from one element to the next
  int align;
  Kind kind;
};

// How elements get their values.
enum class Values {
  raw,   // any bytes: data that is only moved
  sums,  // sums and products over few ranks are exact
  real,  // any numbers of a size: results differ by rounding
};

const std::vector<Basic>& basics();
// One of a kind that predefined operations take, and such an operation.
struct Reduction {
  int basic;
  MPI_Op op;
  const char* name;
  bool rounds;  // results depend on the order in general
};
Reduction any_reduction(Random& random);
// Only integers and bytes: MPI_Accumulate and friends with any of their operations.
Reduction any_accumulate(Random& random);

void set_value(const Basic& basic, void* place, Random& random, Values values);
// Makes equal what the standard leaves open: padding, the sign of zero.
void normalise(const Basic& basic, void* place);
// Clears the bytes of an element that belong to no value.
bool has_padding(const Basic& basic);
void clear_padding(const Basic& basic, void* place);
