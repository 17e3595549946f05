// SPDX-License-Identifier: Apache-2.0
// What the making of communicators needs to hear from the other members.
// Why: below the collectives' room: their schedules hang on communicators that must exist first.
// Threads: one exchange of a communicator at a time, as for every collective call.
#pragma once

#include <cstddef>

#include "core/communicator.hpp"

namespace tern::api {

/// Gathers `bytes` of every member in `all` (size() * bytes, by rank; the caller fills in its
/// part). `number` is the same on all members and new for each exchange. Returns an error class
/// with fail() text. Cost: ceil(log2 n) rounds, (n - 1) * bytes sent per rank (Bruck et al. 1997).
[[nodiscard]] int allgather(core::Communicator& communicator, void* all, size_t bytes,
                            uint32_t number);

}  // namespace tern::api
