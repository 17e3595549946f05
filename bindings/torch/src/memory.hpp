// SPDX-License-Identifier: Apache-2.0
// Tensors as buffers of MPI: themselves where their elements lie one after the other, else copies.
#ifndef TORCH_TERN_MEMORY_HPP
#define TORCH_TERN_MEMORY_HPP

#include <mpi.h>

#include <ATen/ATen.h>

#include <vector>

#include "operation.hpp"

namespace torch_tern {

// A tensor that MPI can read or write as it lies: dense, and in row order.
bool is_plain(const at::Tensor& tensor);

// The one tensor of a list; `words` name the call.
const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* words);
const std::vector<at::Tensor>& only(const std::vector<std::vector<at::Tensor>>& lists,
                                    const char* words);

// Throws for tensors that are not dense, and for devices that MPI does not reach.
void admit(Operation& operation, const at::Tensor& tensor, const char* words);
void require_alike(const at::Tensor& one, const at::Tensor& other, const char* words);

// The operation holds what these return. Written ones are copied back at the end where they are
// copies.
at::Tensor readable(Operation& operation, const at::Tensor& tensor, const char* words);
at::Tensor writable(Operation& operation, const at::Tensor& tensor, const char* words);
at::Tensor changeable(Operation& operation, const at::Tensor& tensor, const char* words);

// One flat tensor for a list: their own memory where they lie one after the other in it, else a
// copy.
at::Tensor readable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);
at::Tensor writable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);

inline MPI_Count bytes_of(const at::Tensor& tensor) {
  return static_cast<MPI_Count>(tensor.nbytes());
}
bool overlap(const at::Tensor& one, const at::Tensor& other);

}  // namespace torch_tern

#endif
