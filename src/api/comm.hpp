// SPDX-License-Identifier: Apache-2.0
// What the functions that make and end communicators have in common.
// Threads: as the MPI calls that use it.
#pragma once

#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// Makes a communicator known to the transports and gives it a handle, which takes over the
/// reference. Throws Error.
void publish(core::Ref<core::Communicator> communicator, MPI_Comm* handle);

/// Takes over those hints of `info` (may be null) that this library knows; the others are ignored,
/// as MPI has it. MPI_ERR_INFO_VALUE for a value that a known hint cannot have.
[[nodiscard]] int set_hints(core::Communicator& communicator, const core::Info* info);

/// MPI_ERR_COMM for an inter-communicator, where `what` is not there yet.
[[nodiscard]] int require_intra(const core::Communicator& communicator, const char* what) noexcept;

}  // namespace tern::api
