// SPDX-License-Identifier: Apache-2.0
// Program: a rank's steps in one order during lowering. Why: order, fusion and numbering are passes
// over a plain list. Lifetime: one lower().
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll::lowering {

inline constexpr int32_t kNone = -1;

/// A transfer over a mapped edge, once per pass.
struct Message {
  int32_t from, to;
  bool data;  // false: a signal of the source schedule
  Slice far;  // in the receiver's inbox; `place` is the message's number until number_slots()
  int32_t slot = 0;  // set by number_slots()
};

struct Op {
  Verb verb = Verb::kJoin;
  int32_t peer = kSelf;
  int32_t message = kNone;  // of puts, their signals (the next step), waits, copies out
  int32_t word = kNone;     // of credits, which have no message
  std::vector<Slice> sources, destinations;
};
using Program = std::vector<Op>;

/// Until number_slots(), `place` of an inbox slice is the message's number.
struct Programs {
  std::vector<Program> ranks;
  std::vector<Message> messages;
};

/// Puts, reduces that put, and signals.
[[nodiscard]] inline bool reaches_out(const Op& op) noexcept {
  return op.verb == Verb::kPut || (op.verb == Verb::kSignal && op.message != kNone) ||
         (op.verb == Verb::kReduce && op.message != kNone);
}

/// All ranks' steps in the order of one run (order.cc). Throws tern::Error.
[[nodiscard]] Programs in_order(const std::vector<Schedule>& all, const Mapped& mapped);

/// Removes copies of a rank (fuse.cc). Peers see the same messages, none later.
void fuse(const Schedule& schedule, const std::vector<Message>& messages, Program& program);

/// A message's slice in terms of `schedule`, the inbox owner's; `like`: the slice received or read
/// by the source schedule.
[[nodiscard]] Slice inbox_slice(const Schedule& schedule, const Slice& like,
                                int32_t message) noexcept;

}  // namespace tern::coll::lowering
