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
  int extent;
  int align;
  Kind kind;
};

enum class Values {
  raw,
  sums,
  real,
};

const std::vector<Basic>& basics();
struct Reduction {
  int basic;
  MPI_Op op;
  const char* name;
  bool rounds;  // results depend on the order
};
Reduction any_reduction(Random& random);
bool compares_addresses(const Reduction& reduction);
// MPI_Accumulate takes integers and bytes only.
Reduction any_accumulate(Random& random);

void set_value(const Basic& basic, void* place, Random& random, Values values);
// normalise() clears padding and the sign of zero, because the standard leaves both open.
void normalise(const Basic& basic, void* place);
bool has_padding(const Basic& basic);
// clear_padding() keeps the sign of zero.
void clear_padding(const Basic& basic, void* place);
