// SPDX-License-Identifier: Apache-2.0
// PyTorch's element types and reductions as MPI's.
#ifndef TORCH_TERN_TYPES_HPP
#define TORCH_TERN_TYPES_HPP

#include <mpi.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

namespace torch_tern {

// "SUM", ...
const char* name_of(c10d::ReduceOp::RedOpType op);

// How the elements of one type are reduced by one operation.
struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int parts = 1;         // elements of `type` in one of the tensor: 2 for sums of complex numbers
  bool average = false;  // the sum is divided by the number of ranks
};

// For averages over so many ranks: each divides by `first`, and the sum is divided by `last`.
struct Divisors {
  double first = 1, last = 1;
};
// 16-bit numbers are divided first, as their sums are soon too large: by a power of two, which is
// exact, so the quotient is rounded once.
Divisors divisors_of(c10::ScalarType type, const Reduction& how, int ranks);

// Throws ValueError where MPI has no such reduction (bits of floating point, order of complex
// numbers, float8).
Reduction reduction_of(c10::ScalarType type, const c10d::ReduceOp& op);

// For PREMUL_SUM the tensor times its factor, for an average that is divided first the quotient: in
// new memory. Else the tensor itself.
at::Tensor premultiplied(const at::Tensor& tensor, const c10d::ReduceOp& op, int ranks);

}  // namespace torch_tern

#endif
