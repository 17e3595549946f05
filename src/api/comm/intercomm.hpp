// SPDX-License-Identifier: Apache-2.0
// Inter-communicators, built from operations of two groups; each rank 0 represents its group.
#pragma once

#include <vector>

#include "api/comm/comm_exchange.hpp"
#include "core/communicator.hpp"
#include "mpi.h"

namespace tern::api {

/// Returns the local group's intra-communicator, created on first use without a message. Throws
/// Error.
[[nodiscard]] core::Communicator& own_side(core::Communicator& inter);

/// Sends rank 0's `ours` to the other group's members, in `theirs`. Collective over both groups;
/// `number` as for allgather().
[[nodiscard]] int trade(core::Communicator& inter, const Words& ours, Words* theirs,
                        uint64_t number);

[[nodiscard]] Words members_of(const core::Group& group);
[[nodiscard]] core::Ref<core::Group> group_of(const uint64_t* members, size_t count);

/// Sets MPI_COMM_NULL if a side is empty or lacks the caller.
[[nodiscard]] int publish_sides(core::Communicator& parent, core::Ref<core::Group> own,
                                core::Ref<core::Group> remote, core::ContextId id,
                                const core::Info* info, MPI_Comm* out);

}  // namespace tern::api
