// SPDX-License-Identifier: Apache-2.0
// BlockingCall: one blocking collective on its way through the executors.
#pragma once

#include "coll/comm_state.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "coll/flat/where.hpp"
#include "coll/select/select.hpp"

namespace tern::coll {

struct BlockingCall {
  const Operation& operation;
  const Question question;
  const CallNumber number;
  CommState& state;
  /// The row of ranks with shared memory; null: no shared memory.
  const Algorithm* shared = nullptr;
  Slots* slots = nullptr;  // once an executor needs them
  /// The memory of all ranks' data, once told.
  Where where = Where::kUnknown;
  int code = 0;              // the executor's result
  bool by_schedule = false;  // a schedule was the executor
  bool timed = false;        // by a contest: the time of an explanation would count

  [[nodiscard]] FlatMethod method() const noexcept {
    return shared == nullptr ? FlatMethod::kNone : shared->flat;
  }
};

}  // namespace tern::coll
