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
  /// Among the rows of ranks with shared memory; null: these ranks share none.
  const Algorithm* shared = nullptr;
  Slots* slots = nullptr;  // once an executor needs them
  /// The memory of all ranks' data, once the ranks have told each other.
  Where where = Where::kUnknown;
  int code = 0;              // the result of the executor that has done the call
  bool by_schedule = false;  // it was this executor

  [[nodiscard]] FlatMethod method() const noexcept {
    return shared == nullptr ? FlatMethod::kNone : shared->flat;
  }
};

}  // namespace tern::coll
