// SPDX-License-Identifier: Apache-2.0
// lower: schedules of sends and receives become schedules of puts, signals and waits, for ranks
// that map each other's memory.
// Why: an algorithm is written once, with sends; engines that run where the data is (streams,
// kernels) have no matching and no host between steps. What they run is proved, drawn and
// simulated before there is a device. Form: "Lowered" in coll/schedule/schedule.hpp.
//
// A message over a mapped edge is a put into a slot of the receiver's inbox, which is this
// message's alone in a pass, and a signal to the data word of the slot's number; the receiver waits
// for the word and reads the slot. Reduces read it there, what is only passed on is put from slot
// to slot, and a reduce whose result is only sent writes into the peer's slot: no copy in between.
// Slots are used again by a later pass (the engine gives passes two halves in turn): before the
// first put of a pass to a peer a rank waits for that peer's credit, which the peer signals when it
// has read the last message of this pass. A signal of the source schedule is a message without
// data; over an edge that is not mapped it becomes a send without slices, its wait a recv without.
//
// Order. Each rank's steps are one queue, in the order of one simulated run of all ranks in which a
// message is one event at both ends. Ranks that follow such an order step by step cannot wait for
// each other in a cycle, even where every send that is left waits for its receive. Cost: of the
// order of the steps. Threads: none shared. See: tests/unit/coll/lower_test.cc,
// coll/laboratory/verify/verify_lowered.cc (the proof).
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// Null where schedules of this form can be lowered, else the reason why not: neighbourhoods and
/// two groups, whose ranks do not all know the others' schedules.
[[nodiscard]] const char* why_not_lowered(const Schedule& schedule) noexcept;

/// `all[r]` is rank r's schedule of one shape, proved; lowered[r] is rank r's. Edges that are not
/// mapped stay messages. The same on every rank. Throws tern::Error with why_not_lowered(), or
/// where sends and receives do not match.
[[nodiscard]] std::vector<Schedule> lower(const std::vector<Schedule>& all, const Mapped& mapped);

}  // namespace tern::coll
