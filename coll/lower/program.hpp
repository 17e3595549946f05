// SPDX-License-Identifier: Apache-2.0
// Program: a rank's steps in one order during lowering.
#pragma once

#include <vector>

#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll::lowering {

inline constexpr int32_t kNone = -1;

/// Message: a transfer over a mapped edge, once per pass.
struct Message {
  int32_t from, to;
  bool data;  // false: a signal of the source schedule
  Slice far;
  int32_t slot = 0;  // set by number_slots()
};

struct Op {
  Verb verb = Verb::kJoin;
  int32_t peer = kSelf;
  int32_t message = kNone;  // set for puts, their signals, waits, copies out
  int32_t word = kNone;
  std::vector<Slice> sources, destinations;
};
using Program = std::vector<Op>;

/// Until number_slots(), `place` of an inbox slice is the message's number.
struct Programs {
  std::vector<Program> ranks;
  std::vector<Message> messages;
};

[[nodiscard]] inline bool reaches_out(const Op& op) noexcept {
  return op.verb == Verb::kPut || (op.verb == Verb::kSignal && op.message != kNone) ||
         (op.verb == Verb::kReduce && op.message != kNone);
}

[[nodiscard]] Programs in_order(const std::vector<Schedule>& all, const Mapped& mapped);

/// fuse() removes copies. Peers see the same messages, none later.
void fuse(const Schedule& schedule, const std::vector<Message>& messages, Program& program);

[[nodiscard]] Slice inbox_slice(const Schedule& schedule, const Slice& like,
                                int32_t message) noexcept;

}  // namespace tern::coll::lowering
