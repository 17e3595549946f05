// SPDX-License-Identifier: Apache-2.0
// What inter-communicators need beside what all communicators have.
// Why: their operations are made of those of the two groups: each group's rank 0 speaks for it.
// Threads: as the MPI calls that use it.
#pragma once

#include <vector>

#include "api/comm/comm_exchange.hpp"
#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// The intra-communicator of the own group; made at first use, without a message. Throws Error.
[[nodiscard]] core::Communicator& own_side(core::Communicator& inter);

/// What rank 0 of the other group gives (its `ours`) reaches every member of this group in
/// `theirs`. Collective over both groups; `number` as for allgather().
[[nodiscard]] int trade(core::Communicator& inter, const Words& ours, Words* theirs,
                        uint64_t number);

/// Members by peer index, as they travel.
[[nodiscard]] Words members_of(const core::Group& group);
[[nodiscard]] core::Ref<core::Group> group_of(const uint64_t* members, size_t count);

/// The members of comm that MPI_Comm_split and MPI_Comm_create put on both sides, as a new
/// inter-communicator; MPI_COMM_NULL where a side is empty or has not the caller.
[[nodiscard]] int publish_sides(core::Communicator& parent, core::Ref<core::Group> own,
                                core::Ref<core::Group> remote, core::ContextId id,
                                const core::Info* info, MPI_Comm* out);

}  // namespace tern::api
