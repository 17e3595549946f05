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
  const Algorithm* shared = nullptr;
  Slots* slots = nullptr;
  Where where = Where::kUnknown;
  int code = 0;
  bool by_schedule = false;
  bool timed = false;  // a contest measures this call

  [[nodiscard]] FlatMethod method() const noexcept {
    return shared == nullptr ? FlatMethod::kNone : shared->flat;
  }
};

}  // namespace tern::coll
