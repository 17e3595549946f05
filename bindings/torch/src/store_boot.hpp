// SPDX-License-Identifier: Apache-2.0
// The start of a job whose ranks meet in PyTorch's Store (torchrun, a file, a TCP port), without a
// launcher of MPI.
#ifndef TORCH_TERN_STORE_BOOT_HPP
#define TORCH_TERN_STORE_BOOT_HPP

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace torch_tern {

// Whether mpirun, srun or another launcher of MPI has started this process, and gives it its rank.
bool has_launcher();
// Whether it has started this process, or torchrun, which has.
bool was_launched();

// The next session is that of `size` processes which share this store. Throws where Tern has no
// MPIX_Boot_provide.
void boot_over(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size);

}  // namespace torch_tern

#endif
