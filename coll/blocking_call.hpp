// SPDX-License-Identifier: Apache-2.0
// BlockingCall: state of a blocking collective, passed from executor to executor.
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
  /// The row for ranks with shared memory; null: none.
  const Algorithm* shared = nullptr;
  Slots* slots = nullptr;  // once an executor needs slots
  Where where = Where::kUnknown;
  int code = 0;              // the result
  bool by_schedule = false;  // a schedule served the call
  bool timed = false;        // by a contest; an explanation must not time it

  [[nodiscard]] FlatMethod method() const noexcept {
    return shared == nullptr ? FlatMethod::kNone : shared->flat;
  }
};

}  // namespace tern::coll
