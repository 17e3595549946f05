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

/// Makes a communicator known to the transports, without a handle. Throws Error.
void join(core::Communicator& communicator);

/// Of the calls that make communicators from groups.
[[nodiscard]] int check_stringtag(const char* stringtag) noexcept;

/// A communicator of `group` that the calls of its members alone make: those with the same
/// `stringtag` and `why`. The caller is a member.
[[nodiscard]] core::Ref<core::Communicator> from_group(const core::Group& group,
                                                       const char* stringtag, core::Derivation why);

/// The members of a process set; null if no set has that name. Throws Error.
[[nodiscard]] core::Ref<core::Group> group_of_set(const char* name);
/// The same number on all ranks whose name of a set means the same set, and on no others; negative
/// for an unknown name. Throws Error.
[[nodiscard]] int number_of_set(const char* name);

/// Takes over those hints of `info` (may be null) that this library knows; the others are ignored,
/// as MPI has it. MPI_ERR_INFO_VALUE for a value that a known hint cannot have.
[[nodiscard]] int set_hints(core::Communicator& communicator, const core::Info* info);

/// The same of the values alone.
[[nodiscard]] Failure check_hints(const core::Info* info);

/// MPI_ERR_COMM for an inter-communicator, where `what` cannot be.
[[nodiscard]] int require_intra(const core::Communicator& communicator, const char* what) noexcept;

}  // namespace tern::api
