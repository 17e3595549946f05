// SPDX-License-Identifier: Apache-2.0
// Functions for inter-communicators.
// Why: an inter-communicator's operations are built from two groups' operations; each rank 0
// represents its group. Threads: like the calling MPI functions.
#pragma once

#include <vector>

#include "api/comm/comm_exchange.hpp"
#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// The intra-communicator of the local group, created on first use without a message. Throws Error.
[[nodiscard]] core::Communicator& own_side(core::Communicator& inter);

/// Sends rank 0's `ours` to every member of the other group, who receive it in `theirs`. Collective
/// over both groups; `number` as for allgather().
[[nodiscard]] int trade(core::Communicator& inter, const Words& ours, Words* theirs,
                        uint64_t number);

/// The members' peer indices, for messages.
[[nodiscard]] Words members_of(const core::Group& group);
[[nodiscard]] core::Ref<core::Group> group_of(const uint64_t* members, size_t count);

/// Publishes the inter-communicator of the members selected by MPI_Comm_split or MPI_Comm_create.
/// Sets MPI_COMM_NULL if a side is empty or lacks the caller.
[[nodiscard]] int publish_sides(core::Communicator& parent, core::Ref<core::Group> own,
                                core::Ref<core::Group> remote, core::ContextId id,
                                const core::Info* info, MPI_Comm* out);

}  // namespace tern::api
