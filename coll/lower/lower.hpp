// SPDX-License-Identifier: Apache-2.0
// lower: turns schedules of sends and receives into puts, signals and waits, for ranks that map
// each other's memory. Why: algorithms are written once, with sends; engines next to the data
// (streams, kernels) have no matching and no host between steps. Form: "Lowered" in
// coll/schedule/schedule.hpp.
//
// A message over a mapped edge becomes a put into a slot of the receiver's inbox, exclusive to the
// message within a pass, and a signal to the slot's data semaphore; the receiver waits for the
// semaphore and reads the slot. Reduces read the slot directly, forwarded data moves from slot to
// slot, and a reduce with a result only for sending writes into the peer's slot. A later pass
// reuses slots (the engine alternates two halves): before its first put of a pass to a peer a rank
// waits for the peer's credit, signalled after the peer has read the pass's last message. A signal
// of the source schedule is a message without data; over an unmapped edge it becomes a send without
// slices, its wait a receive without slices.
//
// Order. Each rank's steps form one queue, in the order of a simulated run of all ranks with
// messages as single events. Such queues cannot deadlock, even with synchronous sends. Cost:
// O(steps). See: tests/unit/coll/lower_test.cc, coll/laboratory/verify/verify_lowered.cc (the
// proof).
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// Null if such schedules can be lowered, else the reason. Excludes neighbourhoods and
/// inter-communicators, since ranks do not know all schedules.
[[nodiscard]] const char* why_not_lowered(const Schedule& schedule) noexcept;

/// `all[r]` is rank r's schedule of one shape, proved; lowered[r] is rank r's result. Unmapped
/// edges stay messages. Equal on every rank. Throws tern::Error with why_not_lowered(), or if sends
/// and receives do not match.
[[nodiscard]] std::vector<Schedule> lower(const std::vector<Schedule>& all, const Mapped& mapped);

}  // namespace tern::coll
