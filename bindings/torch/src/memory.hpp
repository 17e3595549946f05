// SPDX-License-Identifier: Apache-2.0
// Tensors as MPI buffers: the tensor's own memory if contiguous, otherwise a copy.
#ifndef TORCH_TERN_MEMORY_HPP
#define TORCH_TERN_MEMORY_HPP

#include <mpi.h>

#include <ATen/ATen.h>

#include <vector>

#include "operation.hpp"

namespace torch_tern {

bool is_plain(const at::Tensor& tensor);

const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* words);
const std::vector<at::Tensor>& only(const std::vector<std::vector<at::Tensor>>& lists,
                                    const char* words);

// Throws for tensors neither dense nor in memory known to MPI.
void admit(Operation& operation, const at::Tensor& tensor, const char* words);
void require_alike(const at::Tensor& one, const at::Tensor& other, const char* words);

// The operation holds the buffer. A written copy is copied back to the tensor at the operation's
// end.
at::Tensor readable(Operation& operation, const at::Tensor& tensor, const char* words);
at::Tensor writable(Operation& operation, const at::Tensor& tensor, const char* words);

// The flat buffer is the tensors' own memory if adjacent, otherwise a copy.
at::Tensor readable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);
at::Tensor writable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words);

at::Tensor joined(const std::vector<at::Tensor>& tensors);
void part_at_end(Operation& operation, const at::Tensor& all,
                 const std::vector<at::Tensor>& tensors);

inline MPI_Count bytes_of(const at::Tensor& tensor) {
  return static_cast<MPI_Count>(tensor.nbytes());
}

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
