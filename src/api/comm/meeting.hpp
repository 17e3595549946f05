// SPDX-License-Identifier: Apache-2.0
// Meeting: two groups of different worlds become an inter-communicator. The leaders exchange names
// and connection infos of all ranks over a Link, and broadcast the other group's.
// Cost: a gather and a broadcast in each group, and one exchange of the leaders.
#pragma once

#include <functional>

#include "api/comm/port.hpp"
#include "core/communicator.hpp"

namespace tern::api {

/// The leader's way to the other group; runs at the leader alone. Throws Error.
using Dial = std::function<Link(const WaitUntil& wait)>;

/// The leader's exchange of texts with the other leader; runs at the leader alone. Throws Error.
using Swap = std::function<std::string(const std::string& own)>;

struct Met {
  core::Ref<core::Group> remote;
  core::ContextId id;
  bool apart = false;  // see core::Membership
};

/// Makes all ranks of both groups known to each other, and holds them until release(). Collective
/// over `comm`.
[[nodiscard]] int meet_group(core::Communicator& comm, int root, const Swap& swap, Met* met);

void release(const core::Group& met);

/// Collective over `comm`. All ranks return an error of the same class if the leader fails. The
/// communicator has no handle yet.
[[nodiscard]] int meet_world(core::Communicator& comm, int root, const Dial& dial,
                             core::Ref<core::Communicator>* made);

}  // namespace tern::api
