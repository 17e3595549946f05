// SPDX-License-Identifier: Apache-2.0
// Starts a job whose ranks meet in PyTorch's Store (torchrun, a file, a TCP port), without an MPI
// launcher.
#ifndef TORCH_TERN_STORE_BOOT_HPP
#define TORCH_TERN_STORE_BOOT_HPP

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace torch_tern {

// Whether an MPI launcher assigned this process's rank.
bool has_launcher();
// Whether an MPI launcher started this process or torchrun.
bool was_launched();

// The next session contains the `size` processes of this store. Throws without MPIX_Boot_provide.
void boot_over(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size);

}  // namespace torch_tern

#endif
