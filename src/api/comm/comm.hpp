// SPDX-License-Identifier: Apache-2.0
// Functions to create communicators, for hints, and for checks of communicators.
#pragma once

#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// Announces a communicator to the transports; the handle takes over the reference. Throws Error.
/// `held` is the channel whose lock the caller holds, or null.
void publish(core::Ref<core::Communicator> communicator, MPI_Comm* handle,
             core::Channel* held = nullptr);

void join(core::Communicator& communicator);

[[nodiscard]] int check_stringtag(const char* stringtag) noexcept;

/// Creates a communicator without messages. All members call from_group(), with equal `stringtag`
/// and `why`.
[[nodiscard]] core::Ref<core::Communicator> from_group(const core::Group& group,
                                                       const char* stringtag, core::Derivation why);

/// Returns null for an unknown process set. Throws Error.
[[nodiscard]] core::Ref<core::Group> group_of_set(const char* name);
/// Returns a number equal on all ranks naming the same set; negative for an unknown set. Throws
/// Error.
[[nodiscard]] int number_of_set(const char* name);

/// Copies known hints and ignores others. Returns MPI_ERR_INFO_VALUE for an invalid value. `info`
/// may be null.
[[nodiscard]] int set_hints(core::Communicator& communicator, const core::Info* info);

[[nodiscard]] Failure check_hints(const core::Info* info);

/// Returns MPI_ERR_COMM for an inter-communicator.
[[nodiscard]] int require_intra(const core::Communicator& communicator, const char* what) noexcept;

/// For creations without messages, which work despite dead members. Looks for news.
[[nodiscard]] int require_unrevoked(const core::Communicator& communicator) noexcept;

}  // namespace tern::api
