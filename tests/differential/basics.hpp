// SPDX-License-Identifier: Apache-2.0
// The predefined datatypes of random programs, with values and reduction operations for each.
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
  raw,   // any bytes, for data on the move
  sums,  // sums and products over few ranks are exact
  real,  // any numbers of a size: results differ by rounding
};

const std::vector<Basic>& basics();
// A type with a predefined reduction operation.
struct Reduction {
  int basic;
  MPI_Op op;
  const char* name;
  bool rounds;  // results depend on the order in general
};
Reduction any_reduction(Random& random);
// The least or the greatest of addresses.
bool compares_addresses(const Reduction& reduction);
// For MPI_Accumulate: integers and bytes only.
Reduction any_accumulate(Random& random);

void set_value(const Basic& basic, void* place, Random& random, Values values);
// Clears padding and the sign of zero: the standard leaves both open.
void normalise(const Basic& basic, void* place);
// Clears the padding of an element alone.
bool has_padding(const Basic& basic);
void clear_padding(const Basic& basic, void* place);
