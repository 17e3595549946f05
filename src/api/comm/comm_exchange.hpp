// SPDX-License-Identifier: Apache-2.0
// What the making of communicators needs to hear from the other members.
// Why: below the collectives' room: their schedules hang on communicators that must exist first.
// Threads: one exchange of a communicator at a time, as for every collective call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/communicator.hpp"

namespace tern::api {

/// Gathers `bytes` of every member in `all` (size() * bytes, by rank; the caller fills in its
/// part). `number` is the same on all members and new for each exchange. Returns an error class
/// with fail() text. Cost: ceil(log2 n) rounds, (n - 1) * bytes sent per rank (Bruck et al. 1997).
[[nodiscard]] int allgather(core::Communicator& communicator, void* all, size_t bytes,
                            uint64_t number);

/// What is exchanged where the receivers do not know how much it is.
using Words = std::vector<uint64_t>;

/// `words` of the root reach all members, along a binomial tree. `number`: as above.
[[nodiscard]] int broadcast(core::Communicator& communicator, int root, Words* words,
                            uint64_t number);
/// Two processes exchange words; `tag` is a user's, apart from all other messages.
[[nodiscard]] int swap(core::Communicator& communicator, int with, const Words& mine, Words* theirs,
                       int tag);

}  // namespace tern::api
