// SPDX-License-Identifier: Apache-2.0
// lower: turns schedules of sends and receives into puts, signals and waits, for engines next to
// the data (streams, kernels). Form: "Lowered" in coll/schedule/schedule.hpp.
//
// A message over a mapped edge becomes a put into a slot of the receiver's inbox, exclusive to the
// message within a pass, and a signal to the slot's data semaphore; the receiver waits and reads
// the slot. Later passes reuse slots (the engine alternates two sets of slots): before the first
// put of a pass to a peer a rank waits for the peer's credit, signalled after the peer has read the
// pass's last message. A signal of the source schedule is a message without data; over an unmapped
// edge the signal becomes a send without slices.
//
// Order. Each rank's steps form a queue, in the order of a simulated run of all ranks with messages
// as single events, so queues cannot deadlock, even with synchronous sends.
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// why_not_lowered() returns null, or the reason: in neighbourhoods and inter-communicators ranks
/// do not know all schedules.
[[nodiscard]] const char* why_not_lowered(const Schedule& schedule) noexcept;

/// `all[r]` is rank r's proved schedule. The result is equal on every rank. Throws tern::Error if
/// sends and receives do not match.
[[nodiscard]] std::vector<Schedule> lower(const std::vector<Schedule>& all, const Mapped& mapped);

}  // namespace tern::coll
