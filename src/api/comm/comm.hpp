// SPDX-License-Identifier: Apache-2.0
// Shared by the functions that create and end communicators. Threads: like the calling MPI
// functions.
#pragma once

#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// Announces a communicator to the transports and gives it a handle, which takes over the
/// reference. Throws Error.
void publish(core::Ref<core::Communicator> communicator, MPI_Comm* handle);

/// Announces a communicator to the transports without a handle. Throws Error.
void join(core::Communicator& communicator);

/// For calls that create communicators from groups.
[[nodiscard]] int check_stringtag(const char* stringtag) noexcept;

/// A communicator of `group`, created by the members alone with equal `stringtag` and `why`. The
/// caller is a member.
[[nodiscard]] core::Ref<core::Communicator> from_group(const core::Group& group,
                                                       const char* stringtag, core::Derivation why);

/// The members of a process set; null for an unknown name. Throws Error.
[[nodiscard]] core::Ref<core::Group> group_of_set(const char* name);
/// A number per process set, equal on all ranks naming the same set; negative for an unknown name.
/// Throws Error.
[[nodiscard]] int number_of_set(const char* name);

/// Copies the known hints of `info` (may be null) and ignores others, as MPI requires. Returns
/// MPI_ERR_INFO_VALUE for an invalid value of a known hint.
[[nodiscard]] int set_hints(core::Communicator& communicator, const core::Info* info);

/// Checks the hints without copying.
[[nodiscard]] Failure check_hints(const core::Info* info);

/// Returns MPI_ERR_COMM for an inter-communicator; `what` names the argument.
[[nodiscard]] int require_intra(const core::Communicator& communicator, const char* what) noexcept;

}  // namespace tern::api
