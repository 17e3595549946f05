// SPDX-License-Identifier: Apache-2.0
// PyTorch's element types and reductions as MPI types and operations.
#ifndef TORCH_TERN_TYPES_HPP
#define TORCH_TERN_TYPES_HPP

#include <mpi.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

namespace torch_tern {

const char* name_of(c10d::ReduceOp::RedOpType op);

struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int parts = 1;
  bool average = false;
};

struct Divisors {
  double first = 1, last = 1;
};
// Divides 16-bit numbers before the sum, to prevent overflow, by a power of two, to round once.
Divisors divisors_of(c10::ScalarType type, const Reduction& how, int ranks);

Reduction reduction_of(c10::ScalarType type, const c10d::ReduceOp& op);

// Applies the factor of PREMUL_SUM or the first divisor, in new memory; otherwise returns the
// tensor.
at::Tensor premultiplied(const at::Tensor& tensor, const c10d::ReduceOp& op, int ranks);

}  // namespace torch_tern

#endif
