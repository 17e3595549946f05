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

// One flat tensor for a list: their own memory where they lie one after the other in it, else a
// copy.
at::Tensor readable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);
at::Tensor writable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);

// A flat copy of all elements; and at the end the elements of such a tensor go back to the list.
at::Tensor joined(const std::vector<at::Tensor>& tensors);
void part_at_end(Operation& operation, const at::Tensor& all,
                 const std::vector<at::Tensor>& tensors);

inline MPI_Count bytes_of(const at::Tensor& tensor) {
  return static_cast<MPI_Count>(tensor.nbytes());
}

// Bytes to or from each rank, one part after the other: sizes, and where parts begin.
struct Parts {
  Parts() = default;
  explicit Parts(const std::vector<at::Tensor>& tensors) {
    for (const at::Tensor& tensor : tensors) {
      add(bytes_of(tensor));
    }
  }
  void add(MPI_Count bytes) {
    offsets.push_back(counts.empty() ? 0 : offsets.back() + static_cast<MPI_Aint>(counts.back()));
    counts.push_back(bytes);
  }
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> offsets;
};

bool overlap(const at::Tensor& one, const at::Tensor& other);

}  // namespace torch_tern

#endif
