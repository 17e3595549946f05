// SPDX-License-Identifier: Apache-2.0
// PyTorch's element types and reductions as MPI types and operations.
#ifndef TORCH_TERN_TYPES_HPP
#define TORCH_TERN_TYPES_HPP

#include <mpi.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

namespace torch_tern {

// Returns for example "SUM".
const char* name_of(c10d::ReduceOp::RedOpType op);

// The MPI type and operation that reduce one element type.
struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int parts = 1;         // elements of `type` per tensor element: 2 for sums of complex numbers
  bool average = false;  // divide the sum by the number of ranks
};

// For averages: each rank divides by `first`, and the sum is divided by `last`.
struct Divisors {
  double first = 1, last = 1;
};
// Divides 16-bit numbers before the sum, which would overflow otherwise. That divisor is a power of
// two, so the division is exact and the average is rounded once.
Divisors divisors_of(c10::ScalarType type, const Reduction& how, int ranks);

// Throws ValueError if MPI lacks the reduction (bitwise on floating point, MIN of complex numbers,
// float8).
Reduction reduction_of(c10::ScalarType type, const c10d::ReduceOp& op);

// Returns the tensor times its factor (PREMUL_SUM) or the quotient (16-bit AVG) in new memory,
// otherwise the tensor itself.
at::Tensor premultiplied(const at::Tensor& tensor, const c10d::ReduceOp& op, int ranks);

}  // namespace torch_tern

#endif
