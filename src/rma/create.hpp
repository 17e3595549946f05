// SPDX-License-Identifier: Apache-2.0
// create: makes a window on all ranks of a communicator.
// Steps: the ranks exchange their parts on the user's communicator and derive a hidden
// communicator; the host's lowest rank creates shared memory, the others map it; all agree. A
// failure on a rank is an error on all. Cost: three small allgathers.
#pragma once

#include "base/error.hpp"
#include "core/communicator.hpp"
#include "rma/window.hpp"

namespace tern::rma {

struct Wanted {
  int flavor = MPI_WIN_FLAVOR_CREATE;
  void* base = nullptr;
  int64_t bytes = 0;
  int64_t unit = 1;
  bool contiguous = false;  // within a host
  size_t alignment = 0;
  Failure refused;
};

/// Creates a window without a handle. Returns an error class with fail() text, or throws Error.
[[nodiscard]] int create(core::Communicator& parent, const Wanted& wanted, core::Ref<Window>* made);

}  // namespace tern::rma
