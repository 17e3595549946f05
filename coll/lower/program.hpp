// SPDX-License-Identifier: Apache-2.0
// Program: what a rank does, in one order, while it is lowered.
// Why: order, fusion and numbering are passes over one plain list of steps. Lifetime: one lower().
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll::lowering {

inline constexpr int32_t kNone = -1;

/// What goes over a mapped edge once in a pass.
struct Message {
  int32_t from, to;
  bool data;         // false: a signal of the source schedule
  Slice far;         // in the receiver's inbox; `place` is the message's number until it has a slot
  int32_t slot = 0;  // from number_slots() on
};

struct Op {
  Verb verb = Verb::kJoin;
  int32_t peer = kSelf;
  int32_t message = kNone;  // of puts, their signals (the next step), waits, copies out
  int32_t word = kNone;     // of credits, which are no message's
  std::vector<Slice> sources, destinations;
};
using Program = std::vector<Op>;

/// In Op's slices `place` of an inbox slice is the message's number until number_slots().
struct Programs {
  std::vector<Program> ranks;
  std::vector<Message> messages;
};

/// Puts, or reduces that put, and signals to words.
[[nodiscard]] inline bool reaches_out(const Op& op) noexcept {
  return op.verb == Verb::kPut || (op.verb == Verb::kSignal && op.message != kNone) ||
         (op.verb == Verb::kReduce && op.message != kNone);
}

/// All ranks' steps in the order of one run (order.cc). Throws tern::Error.
[[nodiscard]] Programs in_order(const std::vector<Schedule>& all, const Mapped& mapped);

/// One rank's: fewer copies (fuse.cc). What peers see stays: the same messages, none later.
void fuse(const Schedule& schedule, const std::vector<Message>& messages, Program& program);

/// A message's slice in the naming of `schedule`, whose rank owns the inbox: `like` is where the
/// source schedule receives or reads it.
[[nodiscard]] Slice inbox_slice(const Schedule& schedule, const Slice& like,
                                int32_t message) noexcept;

}  // namespace tern::coll::lowering
